"""The log of a registry: one writer at a time, and nothing that was not committed counts."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from penstock.kafka import Admin, Connection, create_topic
from penstock.kafka.schemas_log import FencedError, LogRecord, SchemasLog, SchemasTopicError
from penstock.names import TopicName
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from penstock.names import Offset

Folded = list[tuple[bytes, bytes | None]]


@pytest.fixture
def name() -> TopicName:
    """A topic that is not there."""
    return TopicName(f"schemas-{uuid4().hex}")


def opened(connection: Connection, name: TopicName) -> tuple[SchemasLog, Folded]:
    folded: Folded = []

    def fold(record: LogRecord, _offset: Offset) -> None:
        folded.append((record.key, record.value))

    return SchemasLog.open(connection, name, fold), folded


def entered(log: SchemasLog) -> None:
    log.enter(transactional_id=f"writer-of-{log.topic}", timeout_seconds=30)


def append(log: SchemasLog, *records: tuple[bytes, bytes | None]) -> None:
    log.append([LogRecord(key=key, value=value) for key, value in records], timeout_seconds=30)


def test_what_is_appended_is_folded_by_all_and_found_again(
    connection: Connection, name: TopicName
) -> None:
    log, folded = opened(connection, name)
    other, seen = opened(connection, name)
    with closing(log), closing(other):
        entered(log)
        append(log, (b"a", b"1"), (b"\xff", b"2"))
        append(log, (b"a", None))
        assert folded == [(b"a", b"1"), (b"\xff", b"2"), (b"a", None)]
        other.await_position(log.position, 10)
    again, found = opened(connection, name)
    again.close()
    assert (seen, found) == (folded, folded)


def test_who_has_not_entered_or_was_shut_out_writes_nothing(
    connection: Connection, name: TopicName
) -> None:
    """The second enters while the first does not look: as after a freeze."""
    first, folded = opened(connection, name)
    second, _ = opened(connection, name)
    with closing(first), closing(second):
        with pytest.raises(FencedError):
            append(first, (b"a", b"nobody"))
        entered(first)
        append(first, (b"a", b"first"))
        entered(second)
        with pytest.raises(FencedError) as caught:
            append(first, (b"a", b"zombie"))
        assert caught.value.is_settled
        append(second, (b"a", b"second"))
        first.await_position(second.position, 10)
        assert folded == [(b"a", b"first"), (b"a", b"second")]


def test_what_a_writer_left_uncommitted_counts_for_no_reader(
    connection: Connection, name: TopicName
) -> None:
    """A writer dies between its records and its commit; Confluent's registry would see them."""
    log, folded = opened(connection, name)
    with closing(log):
        entered(log)
        append(log, (b"old", b"valid"))
        dying = Producer(
            connection.client_config() | {"transactional.id": f"writer-of-{name}", "linger.ms": 0}
        )
        dying.init_transactions(20)
        dying.begin_transaction()
        for key in (b"new", b"old"):
            dying.produce(name, b"never committed", key, partition=0)
        dying.flush(20)

        entered(log)

        assert folded == [(b"old", b"valid"), (b"new", None), (b"old", b"valid")]
        append(log, (b"new", b"valid"))
    everything = topic_contents(connection.bootstrap, name, isolation="read_uncommitted")
    as_seen = {record.key: record.value for record in everything}
    assert (b"new", b"never committed") in [(item.key, item.value) for item in everything]
    assert as_seen == {b"new": b"valid", b"old": b"valid"}


@pytest.mark.parametrize(
    ("partitions", "policy", "flaws"),
    [
        (2, "compact", ("2 partitions instead of 1",)),
        (1, "delete", ("`cleanup.policy=delete` instead of `compact`",)),
    ],
    ids=["partitions", "policy"],
)
def test_a_topic_that_would_lose_schemas_is_refused(
    connection: Connection, name: TopicName, partitions: int, policy: str, flaws: tuple[str, ...]
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, name, partition_count=partitions, config={"cleanup.policy": policy})
    with pytest.raises(SchemasTopicError) as caught:
        opened(connection, name)
    assert caught.value.flaws == flaws
