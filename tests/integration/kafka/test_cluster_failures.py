"""Three real brokers, one of which dies."""

import pytest

from penstock.kafka import (
    Admin,
    ClusterDescription,
    ClusterError,
    Isolation,
    ReplicaAssignment,
    TooFewBrokersError,
    TopicPartition,
    create_topic,
    describe_cluster,
    describe_topics,
    end_offsets,
    list_topics,
)
from penstock.kafka.browsing import Ended, Ending, Found, Limits, Newest, Scan
from penstock.local.cluster import KafkaCluster
from penstock.names import BrokerId, Partition, TopicName
from support.producing import Sent, send
from support.waiting import eventually

VICTIM = BrokerId(3)


def assigned(*partitions: tuple[int, ...]) -> list[ReplicaAssignment]:
    return [
        ReplicaAssignment(
            partition=Partition(number), brokers=tuple(BrokerId(broker) for broker in brokers)
        )
        for number, brokers in enumerate(partitions)
    ]


def test_an_explicit_assignment_is_kept(three_brokers: KafkaCluster) -> None:
    admin = Admin(three_brokers.connection)
    name = TopicName("assigned")

    create_topic(admin, name, assignment=assigned((2, 3), (3, 1)))

    partitions = describe_topics(admin, [name])[0].partitions
    assert [(item.leader, item.replicas) for item in partitions] == [(2, (2, 3)), (3, (3, 1))]


def test_more_replicas_than_brokers_are_refused(three_brokers: KafkaCluster) -> None:
    with pytest.raises(TooFewBrokersError) as caught:
        create_topic(Admin(three_brokers.connection), TopicName("wide"), replication_factor=4)

    assert caught.value.message == "replication 4 needs 4 brokers, the cluster has 3"


def test_a_dead_broker_shows_as_the_under_replicated_partitions_it_held(
    three_brokers: KafkaCluster,
) -> None:
    """A partition that only the dead broker held is offline, and the overviews still work."""
    admin = Admin(three_brokers.connection)
    create_topic(admin, TopicName("replicated"), partition_count=6, replication_factor=3)
    create_topic(admin, TopicName("halved"), assignment=assigned((1, 2), (2, VICTIM)))
    create_topic(admin, TopicName("lonely"), assignment=assigned((1,), (VICTIM,)))
    healthy = describe_cluster(admin)
    assert (healthy.under_replicated_count, len(healthy.brokers)) == (0, 3)
    held = next(item.replica_count for item in healthy.brokers if item.broker_id == VICTIM)
    assert held >= 6 + 1 + 1

    three_brokers.kill(VICTIM)
    eventually(lambda: state(admin) == (2, held, 1), within_seconds=60)

    lonely = next(topic for topic in list_topics(admin) if topic.name == "lonely")
    assert [(item.leader, item.end) for item in lonely.partitions] == [(1, 0), (None, None)]
    assert (lonely.offline_count, lonely.span) == (1, None)
    whole = [TopicPartition(TopicName("replicated"), Partition(number)) for number in range(6)]
    assert set(end_offsets(admin, whole).values()) == {0}

    three_brokers.start_broker(VICTIM)
    eventually(lambda: state(admin) == (3, 0, 0), within_seconds=60)


@pytest.mark.long
@pytest.mark.timeout(200)
def test_records_are_browsed_while_a_partition_has_no_leader(three_brokers: KafkaCluster) -> None:
    admin = Admin(three_brokers.connection)
    topic = TopicName("half-offline")
    create_topic(admin, topic, assignment=assigned((1,), (VICTIM,)))
    records = [Sent(value="there", partition=0), Sent(value="away", partition=1)]
    send(three_brokers.connection, topic, records)
    healthy = state(admin)
    three_brokers.kill(VICTIM)
    eventually(lambda: (state(admin) or (0, 0, 0))[2] > 0, within_seconds=60)

    *steps, ended = Scan(
        three_brokers.connection,
        topic,
        Newest(),
        isolation=Isolation.READ_COMMITTED,
        select=lambda record: record.value,
        limits=Limits(found=10, records=100, byte_count=1000, seconds=20),
    )

    assert [step.kept for step in steps if isinstance(step, Found)] == [b"there"]
    assert isinstance(ended, Ended)
    assert (ended.ending, ended.left_out) == (Ending.NOTHING_LEFT, (1,))
    three_brokers.start_broker(VICTIM)
    eventually(lambda: state(admin) == healthy, within_seconds=60)


def state(admin: Admin) -> tuple[int, int, int] | None:
    """Brokers, under-replicated and offline partitions; None while a request gets no answer."""
    try:
        cluster: ClusterDescription = describe_cluster(admin)
    except ClusterError:
        return None
    return len(cluster.brokers), cluster.under_replicated_count, cluster.offline_count
