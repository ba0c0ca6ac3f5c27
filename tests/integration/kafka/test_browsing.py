"""Browsing on a real broker: the order of time, paging without gaps, limits, and going away."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import psutil
import pytest
from confluent_kafka import Producer as Client

from penstock.kafka import Isolation, OffsetNotThereError, UnknownTopicError
from penstock.kafka.browsing import (
    AtOffset,
    Continued,
    Direction,
    Ended,
    Ending,
    Found,
    Limits,
    Newest,
    Oldest,
    Place,
    RecordNotThereError,
    Scan,
    Scanned,
    Since,
    find_record,
)
from penstock.names import Offset, TopicName
from support.producing import Sent, fill, send, send_aborted
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kafka import Connection, Record
    from penstock.local.cluster import KafkaCluster

# Records from longer ago than a topic keeps them would go while a test looks at them.
BEGIN = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
PLENTY = Limits(found=1000, records=10_000_000, byte_count=1 << 40, seconds=60)


def at(seconds: int) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def page(
    connection: Connection,
    topic: TopicName,
    place: Place,
    *,
    partitions: Sequence[int] = (),
    isolation: Isolation = Isolation.READ_COMMITTED,
    limits: Limits = PLENTY,
    wanted: Callable[[Record], bool] = lambda _: True,
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[list[Record], Ended]:
    """Run a scan to its end."""
    scan = Scan(
        connection,
        topic,
        place,
        partitions=partitions,
        isolation=isolation,
        select=lambda record: record if wanted(record) else None,
        limits=limits,
        is_stopped=is_stopped,
    )
    *steps, ended = scan
    assert isinstance(ended, Ended)
    return [step.kept for step in steps if isinstance(step, Found)], ended


def of(count: int) -> Limits:
    return Limits(found=count, records=10_000_000, byte_count=1 << 40, seconds=60)


def values(records: Sequence[Record]) -> list[str]:
    return [(record.value or b"").decode() for record in records]


def test_the_newest_records_of_all_partitions_come_first_whatever_their_partition(
    connection: Connection, topic: TopicName
) -> None:
    send(
        connection,
        topic,
        [Sent(value=f"v{n}", partition=n % 3, timestamp=at(n)) for n in range(20)],
    )

    records, ended = page(connection, topic, Newest(), limits=of(5))

    assert values(records) == ["v19", "v18", "v17", "v16", "v15"]
    assert ended.ending is Ending.ENOUGH


def test_paging_to_older_and_back_to_newer_shows_every_record_once(
    connection: Connection, topic: TopicName
) -> None:
    """Timestamps jump back and forth in each partition: pages go by offsets all the same."""
    send(
        connection,
        topic,
        [Sent(value=f"v{n}", partition=n % 3, timestamp=at(n * 37 % 50)) for n in range(50)],
    )
    seen: list[str] = []
    place: Place = Newest()
    while True:
        records, ended = page(connection, topic, place, limits=of(7))
        seen += values(records)
        if ended.ending is Ending.NOTHING_LEFT:
            break
        place = Continued(ended.scanned.positions, Direction.OLDER)
    back, _ = page(connection, topic, Continued(ended.scanned.positions, Direction.NEWER))
    newer_than_last, _ = page(connection, topic, Continued(ended.begins, Direction.NEWER))

    assert sorted(seen) == sorted(f"v{n}" for n in range(50))
    assert sorted(values(back)) == sorted(seen)
    assert sorted(values(newer_than_last)) == sorted(seen[:49])


def test_reading_begins_at_a_time_an_offset_or_the_oldest_record(
    connection: Connection, topic: TopicName
) -> None:
    send(
        connection,
        topic,
        [Sent(value=f"v{n}", partition=n % 2, timestamp=at(n)) for n in range(10)],
    )

    since, _ = page(connection, topic, Since(at(6)))
    offset, _ = page(connection, topic, AtOffset(Offset(3)), partitions=[1])
    oldest, _ = page(connection, topic, Oldest(), limits=of(3))

    assert values(since) == ["v6", "v7", "v8", "v9"]
    assert values(offset) == ["v7", "v9"]
    assert values(oldest) == ["v0", "v1", "v2"]


def test_an_offset_that_no_partition_has_and_an_unknown_topic_are_said(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(partition=0)])

    with pytest.raises(OffsetNotThereError):
        page(connection, topic, AtOffset(Offset(99)))
    with pytest.raises(UnknownTopicError):
        page(connection, TopicName(f"no-{topic}"), Newest())


def test_an_empty_topic_has_nothing_to_show_and_says_so(
    connection: Connection, topic: TopicName
) -> None:
    assert page(connection, topic, Newest())[1].ending is Ending.NOTHING_LEFT
    assert page(connection, topic, Since(BEGIN))[1].ending is Ending.NOTHING_LEFT


def test_a_page_of_newer_records_goes_on_when_more_have_come(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value="first", partition=0)])
    _, ended = page(connection, topic, Newest())
    send(connection, topic, [Sent(value="second", partition=1)])

    records, _ = page(connection, topic, Continued(ended.begins, Direction.NEWER))

    assert values(records) == ["second"]


def test_aborted_records_are_seen_only_by_those_who_ask_for_them(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value="before", partition=0, timestamp=at(0))])
    send_aborted(connection, topic, [f"aborted{n}" for n in range(300)], partition=0)
    send(connection, topic, [Sent(value="after", partition=0)])

    committed, ended = page(connection, topic, Newest(), limits=of(2))
    onwards, _ = page(connection, topic, Oldest())
    all_of_them, _ = page(
        connection, topic, Newest(), isolation=Isolation.READ_UNCOMMITTED, limits=of(3)
    )

    assert values(committed) == ["after", "before"]
    assert ended.scanned.records == 2
    assert values(onwards) == ["before", "after"]
    assert values(all_of_them) == ["after", "aborted299", "aborted298"]


def test_an_open_transaction_does_not_keep_a_reader_waiting(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value="before", partition=0)])
    client = Client(connection.client_config() | {"transactional.id": f"open-{uuid4().hex}"})
    client.init_transactions(30)
    client.begin_transaction()
    client.produce(topic, "open", partition=0)
    client.flush(30)
    try:
        records, ended = page(connection, topic, Newest())
        assert values(records) == ["before"]
        assert ended.ending is Ending.NOTHING_LEFT
    finally:
        client.abort_transaction(30)


@pytest.mark.long
@pytest.mark.timeout(180)
def test_gaps_that_compaction_left_are_passed_in_both_directions(
    kafka: KafkaCluster, connection: Connection
) -> None:
    topic = kafka.create_topic(
        f"compacted-{uuid4().hex}",
        config={
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.001",
        },
    )
    again = [Sent(key="again", value=f"{n}") for n in range(20_000)]
    send(connection, topic, [Sent(key="kept", value="old"), *again])

    def is_compacted() -> bool:
        # Only what lies behind a record that is 100 ms younger is compacted.
        send(connection, topic, [Sent(key="last", value="new")])
        return len(page(connection, topic, Oldest())[0]) < 100

    eventually(is_compacted, within_seconds=120)

    newest, ended = page(connection, topic, Newest())
    oldest, _ = page(connection, topic, Oldest())

    assert values(newest) == list(reversed(values(oldest)))
    assert values(oldest)[0] == "old"
    assert values(newest)[0] == "new"
    assert ended.ending is Ending.NOTHING_LEFT


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        (Limits(found=1000, records=100, byte_count=1 << 40, seconds=60), Ending.RECORDS),
        (Limits(found=1000, records=10_000, byte_count=2000, seconds=60), Ending.BYTES),
        (Limits(found=1000, records=10_000, byte_count=1 << 40, seconds=0), Ending.TIME),
    ],
)
def test_a_scan_ends_at_its_limits_and_goes_on_where_it_stopped(
    connection: Connection, topic: TopicName, limits: Limits, ending: Ending
) -> None:
    send(connection, topic, [Sent(value=f"value-{n:05}", partition=n % 3) for n in range(500)])

    first, ended = page(connection, topic, Oldest(), limits=limits)
    rest, _ = page(connection, topic, Continued(ended.scanned.positions, Direction.NEWER))

    assert ended.ending is ending
    assert len(first) < 500
    assert sorted(values(first) + values(rest)) == [f"value-{n:05}" for n in range(500)]


def test_a_scan_that_finds_nothing_says_how_far_it_came(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(partition=0, timestamp=at(n)) for n in range(100)])

    records, ended = page(connection, topic, Newest(), wanted=lambda _: False)

    assert records == []
    assert ended.ending is Ending.NOTHING_LEFT
    assert ended.scanned.records == 100
    assert ended.scanned.positions == {0: 0, 1: 0, 2: 0}
    assert ended.scanned.moment == at(0)


def test_one_record_is_found_by_its_offset_and_what_is_not_there_is_explained(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value="first", partition=1)])
    send_aborted(connection, topic, ["aborted"], partition=1)

    assert find_record(connection, topic, 1, 0).value == b"first"
    uncommitted = Isolation.READ_UNCOMMITTED
    assert find_record(connection, topic, 1, 1, isolation=uncommitted).value == b"aborted"
    with pytest.raises(RecordNotThereError, match="transaction"):
        find_record(connection, topic, 1, 1)
    with pytest.raises(RecordNotThereError, match="transaction"):
        find_record(connection, topic, 1, 2)
    with pytest.raises(RecordNotThereError, match="the next record will be 3"):
        find_record(connection, topic, 1, 3)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_scan_of_a_million_records_that_is_cancelled_leaves_nothing_behind(
    connection: Connection, topic: TopicName
) -> None:
    fill(connection, topic, 1_000_000)
    process, stop = psutil.Process(), threading.Event()
    page(connection, topic, Newest(), limits=of(10))  # what is loaded once is loaded
    before, threads = process.memory_info().rss, process.num_threads()
    scan = Scan(
        connection,
        topic,
        Newest(),
        isolation=Isolation.READ_COMMITTED,
        select=lambda record: record if record.value == b"not there" else None,
        limits=PLENTY,
        is_stopped=stop.is_set,
    )
    started, told, most = time.monotonic(), list[Scanned](), 0
    for step in scan:
        most = max(most, process.memory_info().rss)
        if isinstance(step, Scanned):
            told.append(step)
        if len(told) == 2:
            stop.set()
        last = step

    assert isinstance(last, Ended)
    assert last.ending is Ending.CANCELLED
    assert time.monotonic() - started < 10
    assert 0 < told[0].records < told[-1].records < 1_000_000
    assert most - before < 100 * 1024 * 1024
    eventually(lambda: process.num_threads() <= threads, within_seconds=30)


def test_a_scan_that_is_dropped_halfway_closes_its_client(
    connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(partition=0) for _ in range(100)])
    page(connection, topic, Newest())
    process = psutil.Process()
    threads = process.num_threads()
    steps = iter(
        Scan(
            connection,
            topic,
            Newest(),
            isolation=Isolation.READ_COMMITTED,
            select=lambda record: record,
            limits=PLENTY,
        )
    )
    next(steps)
    assert process.num_threads() > threads

    del steps

    eventually(lambda: process.num_threads() <= threads, within_seconds=30)
