"""What a table holds, without a broker: entries, positions, and waiting for a change."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka import ConfigEntry, ConfigSource
from penstock.kafka.tables import (
    Entry,
    TableClosedError,
    TableTimeoutError,
    TableTopicError,
    VersionConflictError,
)
from penstock.kafka.tables.entries import Change, Contents, key_bytes, key_text
from penstock.kafka.tables.topic import flaws
from penstock.names import Offset, TopicName, Version

TOPIC = TopicName("_penstock.status")


def entry(value: bytes, version: int) -> Entry:
    return Entry(value=value, version=Version(version), written_at=datetime(2030, 1, 1, tzinfo=UTC))


def written(key: str, value: bytes, offset: int) -> Change:
    return Change(key, entry(value, offset), Offset(offset))


def deleted(key: str, offset: int) -> Change:
    return Change(key, None, Offset(offset))


@contextmanager
def later(action: threading.Thread) -> Iterator[None]:
    action.start()
    yield
    action.join()


def test_the_last_record_of_a_key_counts() -> None:
    contents = Contents()
    contents.apply([written("a", b"1", 0), written("b", b"2", 1)], Offset(2))
    contents.apply([written("a", b"3", 2), deleted("b", 3), deleted("never", 4)], Offset(5))
    assert contents.copied() == {"a": entry(b"3", 2)}
    assert contents.position == 5


def test_a_copy_does_not_change_with_the_table() -> None:
    contents = Contents()
    contents.apply([written("a", b"1", 0)], Offset(1))
    copy = contents.copied()
    contents.apply([deleted("a", 1)], Offset(2))
    assert copy == {"a": entry(b"1", 0)}


def test_who_waits_is_woken_by_the_change_that_fulfils_the_condition() -> None:
    contents = Contents()
    change = threading.Thread(
        target=lambda: contents.apply([written("a", b"1", 0)], Offset(1)), daemon=True
    )
    with later(change):
        assert contents.await_condition(lambda: contents.get("a") is not None, 10)


def test_waiting_ends_with_the_time() -> None:
    assert not Contents().await_condition(lambda: False, 0.01)


def test_a_condition_that_holds_already_is_not_waited_for() -> None:
    assert Contents().await_condition(lambda: True, -1)


def test_who_waits_is_told_that_the_table_was_closed() -> None:
    contents = Contents()
    closing = threading.Thread(target=lambda: contents.end(TableClosedError(TOPIC)), daemon=True)
    with later(closing), pytest.raises(TableClosedError):
        contents.await_condition(lambda: False, 10)


def test_a_closed_table_shows_nothing() -> None:
    contents = Contents()
    contents.end(TableClosedError(TOPIC))
    with pytest.raises(TableClosedError):
        contents.get("a")
    with pytest.raises(TableClosedError):
        contents.copied()


@given(st.binary())
def test_every_key_of_a_record_survives_the_way_to_text_and_back(key: bytes) -> None:
    assert key_bytes(key_text(key)) == key


def test_a_key_is_utf_8() -> None:
    assert key_bytes("lease/größe") == "lease/größe".encode()


@pytest.mark.parametrize(
    ("expected", "found", "message"),
    [
        (None, entry(b"", 7), "found version 7, expected no entry"),
        (Version(3), None, "found no entry, expected version 3"),
        (Version(3), entry(b"", 7), "found version 7, expected version 3"),
    ],
)
def test_a_conflict_says_what_was_found_and_what_was_expected(
    expected: Version | None, found: Entry | None, message: str
) -> None:
    error = VersionConflictError(TOPIC, "lease/a", expected=expected, found=found)
    said = f"`lease/a` in `_penstock.status` was written by somebody else: {message}"
    assert (error.message, error.found) == (said, found)


def test_a_timeout_ends_with_the_last_reason() -> None:
    error = TableTimeoutError(TOPIC, action="write `a`", waited_seconds=30, reason="broker down")
    assert error.message == (
        "table `_penstock.status` did not write `a` within 30 s (the last reason: broker down)"
    )
    assert error.retryable


def test_a_topic_that_cannot_hold_a_table_is_told_with_all_its_flaws() -> None:
    flaws = ["3 partitions instead of 1", "`cleanup.policy=delete` instead of `compact`"]
    assert TableTopicError(TOPIC, flaws=flaws).message == (
        "topic `_penstock.status` cannot hold a table: it has 3 partitions instead of 1, "
        "`cleanup.policy=delete` instead of `compact`"
    )


@pytest.mark.parametrize(
    ("partition_count", "configs", "expected"),
    [
        (1, {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}, []),
        (
            3,
            {"cleanup.policy": "compact,delete", "message.timestamp.type": "LogAppendTime"},
            ["3 partitions instead of 1", "`cleanup.policy=compact,delete` instead of `compact`"],
        ),
        (
            1,
            {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"},
            ["`message.timestamp.type=CreateTime` instead of `LogAppendTime`"],
        ),
    ],
)
def test_only_one_compacted_partition_with_the_brokers_timestamps_is_a_table(
    partition_count: int, configs: dict[str, str], expected: list[str]
) -> None:
    entries = [
        ConfigEntry(
            name=name, value=value, source=ConfigSource.TOPIC, read_only=False, sensitive=False
        )
        for name, value in configs.items()
    ]
    assert flaws(partition_count, entries) == expected
