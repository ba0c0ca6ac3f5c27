"""The lag of flows that read a real broker's topics."""

from collections.abc import Iterator
from datetime import timedelta
from threading import Event

import pytest
from confluent_kafka import Producer

from penstock.kafka import (
    Admin,
    Connection,
    Isolation,
    alter_topic,
    delete_topics,
    end_offsets,
)
from penstock.monitoring import LagMonitor
from penstock.names import FlowName, Offset, TopicName
from support.groups import delete_records_before
from support.pipeline_events import DETECT
from support.producing import Sent, send
from support.topic_contents import await_commits
from support.watched import LATER, WRITTEN, Watched, partition_of, written_after

COUNT = FlowName("count")


@pytest.fixture
def watched(connection: Connection) -> Iterator[Watched]:
    watched = Watched(connection)
    yield watched
    watched.monitor.stop()


def test_lag_is_told_in_records_and_in_the_age_of_the_oldest(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    records = [written_after(0), written_after(60), written_after(120), written_after(30, 1)]
    send(connection, topic, records)
    watched.read(topic, 1, 0, 0)

    (lag,) = watched.look()

    assert (lag.flow, lag.at, lag.records, lag.seconds) == (DETECT, LATER, 3, 570.0)
    assert lag.by_partition == {
        partition_of(topic, 0): 2,
        partition_of(topic, 1): 1,
        partition_of(topic, 2): 0,
    }


def test_lag_shrinks_as_batches_finish_and_is_zero_at_the_end(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [written_after(60 * number) for number in range(3)])
    seen = []
    for read in range(4):
        watched.read(topic, read, 0, 0)
        seen += [(lag.records, lag.seconds) for lag in watched.look()]

    assert seen == [(3, 600.0), (2, 540.0), (1, 480.0), (0, 0.0)]


def test_a_flow_that_stands_still_grows_older(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [written_after(0)])
    watched.read(topic, 0, 0, 0)
    (first,) = watched.look()

    watched.now = LATER + timedelta(seconds=5)
    (second,) = watched.look()

    assert (first.seconds, second.seconds) == (600.0, 605.0)


def test_each_flow_has_its_own_lag_in_a_topic_that_both_read(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [written_after(0), written_after(60)])
    watched.read(topic, 0, 0, 0)
    watched.read(topic, 1, 0, 0, flow=COUNT)

    lags = {lag.flow: (lag.records, lag.seconds) for lag in watched.look()}

    assert lags == {DETECT: (2, 600.0), COUNT: (1, 540.0)}


def test_a_large_batch_in_one_partition_does_not_hide_the_others(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    big = [Sent(partition=0, value="x" * 1000, timestamp=LATER) for _ in range(2000)]
    send(connection, topic, [*big, written_after(0, 1), written_after(60, 2)])
    watched.read(topic, 0, 0, 0)

    (lag,) = watched.look()

    assert (lag.records, lag.seconds) == (2002, 600.0)


def test_where_a_flow_resumes_counts_before_its_first_batch(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [written_after(0), written_after(60)])
    assert watched.look() == []

    watched.monitor.begin(DETECT, {partition_of(topic, 0): Offset(1)})

    assert [(lag.records, lag.seconds) for lag in watched.look()] == [(1, 540.0)]


def test_a_forgotten_flow_is_told_no_more(watched: Watched, topic: TopicName) -> None:
    watched.read(topic, 0, 0, 0)
    watched.read(topic, 0, 0, 0, flow=COUNT)

    watched.monitor.forget(DETECT)

    assert [lag.flow for lag in watched.look()] == [COUNT]


def test_records_in_added_partitions_count_at_once(
    watched: Watched, connection: Connection, admin: Admin, topic: TopicName
) -> None:
    watched.read(topic, 0, 0, 0)
    alter_topic(admin, topic, partition_count=4)
    send(connection, topic, [written_after(0, 3)])

    assert [(lag.records, lag.seconds) for lag in watched.look()] == [(1, 600.0)]


def test_an_open_transaction_shows_as_lag_although_the_flow_can_read_no_further(
    watched: Watched, connection: Connection, admin: Admin, topic: TopicName
) -> None:
    producer = Producer(connection.client_config() | {"transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, "x", partition=0, timestamp=int(WRITTEN.timestamp() * 1000))
    assert producer.flush(20) == 0
    first = partition_of(topic, 0)
    stable = end_offsets(admin, [first], isolation=Isolation.READ_COMMITTED)[first]
    watched.read(topic, stable, 0, 0)

    (young,) = watched.look()
    (older,) = watched.look()
    producer.commit_transaction(20)
    await_commits(connection, topic)
    # The record and the marker of its transaction have been read.
    watched.read(topic, 2, 0, 0)

    assert (stable, young.records, young.seconds) == (0, 1, 600.0)
    assert (young.held_records, young.held_since) == (1, None)
    assert (older.held_records, older.held_since) == (1, WRITTEN)
    (done,) = watched.look()
    assert (done.records, done.seconds, done.held_records, done.held_since) == (0, 0.0, 0, None)


def test_records_before_an_open_transaction_are_not_held_up_by_it(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [written_after(0), written_after(60), written_after(120)])
    producer = Producer(connection.client_config() | {"transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    for _ in range(2):
        producer.produce(topic, "x", partition=0, timestamp=int(LATER.timestamp() * 1000))
    assert producer.flush(20) == 0
    watched.read(topic, 1, 0, 0)

    watched.look()
    (lag,) = watched.look()
    producer.abort_transaction(20)

    assert (lag.records, lag.seconds) == (4, 540.0)
    assert (lag.held_records, lag.held_since) == (2, LATER)


def test_where_only_the_marker_of_a_transaction_is_left_nothing_waits(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    producer = Producer(connection.client_config() | {"transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, "x", partition=0, timestamp=int(WRITTEN.timestamp() * 1000))
    producer.commit_transaction(20)
    await_commits(connection, topic)
    watched.read(topic, 1, 0, 0)

    assert [(lag.records, lag.seconds) for lag in watched.look()] == [(1, 0.0)]


def test_what_retention_has_removed_does_not_make_a_flow_older(
    watched: Watched, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [written_after(0), written_after(60), written_after(120)])
    delete_records_before(connection, topic, 2)
    watched.read(topic, 0, 0, 0)

    assert [lag.seconds for lag in watched.look()] == [480.0]


def test_the_lag_in_a_deleted_topic_is_not_known(
    watched: Watched, admin: Admin, topic: TopicName
) -> None:
    watched.read(topic, 0, 0, 0)
    delete_topics(admin, [topic])

    assert [(lag.records, lag.seconds) for lag in watched.look()] == [(None, None)]


def test_a_started_monitor_tells_by_itself(connection: Connection, topic: TopicName) -> None:
    told = Event()
    monitor = LagMonitor(connection, lambda _: told.set(), every_seconds=0.05)
    monitor.begin(DETECT, {partition_of(topic, 0): Offset(0)})

    with monitor:
        assert told.wait(20)
