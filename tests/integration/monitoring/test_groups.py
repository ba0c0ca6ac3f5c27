"""Groups are followed on a real broker: lag in records and seconds, and what retention takes."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from confluent_kafka import Producer, ShareConsumer

from penstock.kafka import Admin, Connection, GroupState, GroupType, delete_groups
from penstock.local.cluster import KafkaCluster
from penstock.monitoring.alerts import READY_MADE
from penstock.monitoring.catalog.groups import GROUP_LOSS_MARGIN
from penstock.monitoring.groups import GroupFigures, GroupSampler, Trend, Verdict
from penstock.monitoring.groups.figures import moment
from penstock.names import GroupId, TopicName
from support.groups import commit, delete_records_before, joined, new_group, produce
from support.waiting import eventually

HOUR = 3600.0
DAY = 24 * HOUR


class Clock:
    """Time as this test sets it; the broker has its own."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> Clock:
    """What the sampler takes for now."""
    return Clock()


@pytest.fixture
def sampler(connection: Connection, clock: Clock) -> Iterator[GroupSampler]:
    """A sampler of the broker of the run."""
    sampler = GroupSampler(connection, clock=clock)
    yield sampler
    sampler.close()


def figures(sampler: GroupSampler, group: GroupId, clock: Clock) -> GroupFigures | None:
    clock.ahead += 60  # a look is due
    list(sampler.sample())
    return sampler.snapshot().by_group.get(group)


def known(sampler: GroupSampler, group: GroupId, clock: Clock) -> GroupFigures:
    eventually(lambda: figures(sampler, group, clock), within_seconds=20)
    found = figures(sampler, group, clock)
    assert found is not None
    return found


def test_a_stopped_groups_lag_and_seconds_grow(
    connection: Connection, topic: TopicName, sampler: GroupSampler, clock: Clock
) -> None:
    group, before = new_group(), int((time.time() - HOUR) * 1000)
    produce(connection, topic, {0: 10, 1: 5}, timestamp=before)
    commit(connection, group, topic, {0: 4, 1: 5})
    first = known(sampler, group, clock)
    at = datetime.fromtimestamp(time.time(), UTC)
    seconds = first.lag_seconds(at)
    assert (first.lag, first.max_lag, first.member_count) == (6, 6, 0)
    assert (first.type, first.state) == (GroupType.CLASSIC, GroupState.EMPTY)
    assert seconds == pytest.approx(HOUR, abs=60)

    produce(connection, topic, {0: 20})
    clock.ahead += 600
    later = known(sampler, group, clock)
    assert (later.lag, later.trend, later.verdict) == (26, Trend.GROWING, Verdict.STOP)
    assert later.unread_since == first.unread_since  # so its age grows with the clock


def test_a_group_is_told_when_retention_takes_what_it_has_not_read(
    kafka: KafkaCluster, connection: Connection, sampler: GroupSampler, clock: Clock
) -> None:
    day = {"retention.ms": "86400000"}
    topic = kafka.create_topic(f"test-{uuid4().hex}", config=day)
    group = new_group()
    produce(connection, topic, {0: 10}, timestamp=int((time.time() - 6 * HOUR) * 1000))
    commit(connection, group, topic, {0: 2})
    found = known(sampler, group, clock)
    assert found.lost_at is not None
    assert found.lost_at.timestamp() == pytest.approx(time.time() + 18 * HOUR, abs=60)
    assert found.loss_margin(moment(clock())) == pytest.approx(0.75, abs=0.05)


def test_a_stopped_group_of_a_quiet_topic_comes_closer_to_its_loss(
    kafka: KafkaCluster, connection: Connection, sampler: GroupSampler, clock: Clock
) -> None:
    """Nothing changes for days, so nobody compares its position with anything any more."""
    topic = kafka.create_topic(f"test-{uuid4().hex}", config={"retention.ms": "604800000"})
    group = new_group()
    produce(connection, topic, {0: 10}, timestamp=int((time.time() - DAY) * 1000))
    commit(connection, group, topic, {0: 2})
    (rule,) = [rule for rule in READY_MADE if rule.name == "data-loss-near"]

    def margin() -> float:
        known(sampler, group, clock)
        (found,) = [
            item.value
            for item in sampler.sample()
            if item.metric == GROUP_LOSS_MARGIN.name and dict(item.labels)["group"] == group
        ]
        return found

    first = margin()
    clock.ahead += 1000
    settled = margin()
    clock.ahead += 5.9 * DAY - clock.ahead
    last = margin()

    assert (first, settled) == pytest.approx((6 / 7, 6 / 7), abs=0.01)
    assert last == pytest.approx(0.1 / 7, abs=0.01)
    assert [rule.is_broken_by(found) for found in (first, settled, last)] == [False, False, True]


def test_a_group_behind_retention_is_losing_records(
    connection: Connection, topic: TopicName, sampler: GroupSampler, clock: Clock
) -> None:
    group = new_group()
    produce(connection, topic, {0: 10})
    commit(connection, group, topic, {0: 2})
    delete_records_before(connection, topic, 7)
    found = known(sampler, group, clock)
    assert (found.lag, found.expired, found.verdict) == (8, 5, Verdict.ERR)
    assert found.loss_margin(moment(clock())) == 0
    (partition,) = sampler.partitions(group)
    assert (partition.committed, partition.first, partition.end) == (2, 7, 10)


def test_a_compacted_topic_loses_nothing(
    kafka: KafkaCluster, connection: Connection, sampler: GroupSampler, clock: Clock
) -> None:
    compacted = {"cleanup.policy": "compact", "retention.ms": "1000"}
    topic = kafka.create_topic(f"test-{uuid4().hex}", config=compacted)
    group = new_group()
    producer = Producer(connection.client_config())
    producer.produce(topic, b"v", key=b"k")
    producer.flush(10)
    commit(connection, group, topic, {0: 0})
    found = known(sampler, group, clock)
    assert (found.lag, found.lost_at) == (1, None)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_counted_and_leave(
    connection: Connection, topic: TopicName, sampler: GroupSampler, clock: Clock, protocol: str
) -> None:
    group = new_group()
    produce(connection, topic, {0: 3})
    with joined(connection, group, topic, "a", "b", protocol=protocol) as (first, _):
        first.commit(asynchronous=False) if first.poll(0.2) else None
        eventually(
            lambda: (found := figures(sampler, group, clock)) and found.member_count == 2,
            within_seconds=20,
        )
        found = known(sampler, group, clock)
        assert (found.type, found.state) == (GroupType(protocol), GroupState.STABLE)
    eventually(
        lambda: (found := figures(sampler, group, clock)) is None or found.member_count == 0,
        within_seconds=20,
    )


def test_a_group_that_is_deleted_is_gone(
    connection: Connection, topic: TopicName, sampler: GroupSampler, clock: Clock
) -> None:
    group = GroupId(f"penstock.shop.{new_group()}")
    produce(connection, topic, {0: 1})
    commit(connection, group, topic, {0: 1})
    found = known(sampler, group, clock)
    assert found.flow is not None
    assert found.flow.pipeline == "shop"
    with Admin(connection) as admin:
        delete_groups(admin, [group])
    eventually(lambda: figures(sampler, group, clock) is None, within_seconds=20)


def test_series_tell_of_groups_that_recently_moved(
    connection: Connection, topic: TopicName, sampler: GroupSampler, clock: Clock
) -> None:
    group = new_group()
    produce(connection, topic, {0: 10})
    commit(connection, group, topic, {0: 4})
    known(sampler, group, clock)
    mine = {
        (str(item.metric), dict(item.labels).get("partition")): item.value
        for item in sampler.sample()
        if dict(item.labels).get("group") == group
    }
    assert mine["kafka_consumergroup_group_sum_lag", None] == 6
    assert mine["kafka_consumergroup_group_lag", "0"] == 6
    assert mine["penstock_group_members", None] == 0


def test_a_share_group_has_a_lag_too(
    connection: Connection, topic: TopicName, sampler: GroupSampler, clock: Clock
) -> None:
    group = new_group()
    consumer = ShareConsumer(connection.client_config() | {"group.id": group, "log_level": 0})
    consumer.subscribe([topic])
    read = 0

    def has_lag() -> bool:
        nonlocal read
        read += len(consumer.poll(0.1))
        if read == 0:  # it begins at the end, so something must come after it has begun
            produce(connection, topic, {0: 1})
        found = figures(sampler, group, clock)
        return found is not None and found.lag is not None and read > 0

    eventually(has_lag, within_seconds=60)
    found = known(sampler, group, clock)
    consumer.close()
    assert (found.type, found.member_count) == (GroupType.SHARE, 1)
    assert found.topics == (topic,)
