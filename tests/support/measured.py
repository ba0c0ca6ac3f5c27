"""What a broker may have measured of itself, and the cluster that it is in."""

from penstock.kafka import BrokerDescription, ClusterDescription
from penstock.monitoring.broker_measures import BrokerMeasures
from penstock.names import BrokerId

MEASURED = BrokerMeasures(
    active_controller=False,
    under_replicated=0,
    under_min_isr=0,
    at_min_isr=0,
    offline_replicas=0,
    offline_partitions=0,
    preferred_imbalance=0,
    bytes_in=0,
    bytes_out=0,
    records_in=0,
    isr_shrinks=0,
    isr_expands=0,
    connections=5,
    authentications=0,
    requests={"Fetch": 10.0},
    request_times=(),
    log_flushes=0,
    log_flush_seconds={},
    heap_bytes=1e8,
    heap_limit_bytes=2e8,
)
"""Nothing that is out of order."""


def described_cluster(*brokers: int) -> ClusterDescription:
    """Return a cluster with these brokers, in which nothing is wrong."""
    return ClusterDescription(
        cluster_id="test",
        brokers=tuple(
            BrokerDescription(
                broker_id=BrokerId(number),
                host="kafka",
                port=9092,
                rack=None,
                reachable=True,
                leader_count=20,
                replica_count=60,
                directories=None,
            )
            for number in brokers
        ),
        missing={},
        quorum=None,
        features=None,
        topic_count=1,
        partition_count=60,
        under_replicated_count=0,
        offline_count=0,
        topics=(),
    )
