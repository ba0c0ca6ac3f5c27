"""The series of brokers and of the cluster as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.monitoring.balance import leader_imbalance, traffic_imbalance
from penstock.monitoring.catalog import brokers as catalog
from penstock.monitoring.catalog import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.monitoring.broker_measures import BrokerMeasures
    from penstock.monitoring.brokers import BrokerFigures, BrokersSnapshot
    from penstock.monitoring.catalog import Metric, Sample


def samples_of(snapshot: BrokersSnapshot) -> Iterator[Sample]:
    """Return all that is known as series; what is not known has none."""
    for metric, value in _of_cluster(snapshot):
        if value is not None:
            yield sample(metric, float(value))
    for broker in snapshot.brokers:
        name = str(broker.broker_id)
        for metric, value in _of_broker(broker):
            if value is not None:
                yield sample(metric, float(value), broker=name)
    for node, measured in (
        *((broker.broker_id, broker.measured) for broker in snapshot.brokers),
        *((controller.node_id, controller.measured) for controller in snapshot.controllers_apart),
    ):
        if measured is not None:
            for metric, value in _of_measures(measured):
                if value is not None:
                    yield sample(metric, float(value), broker=str(node))
            yield from _labelled(measured, str(node))


def _of_cluster(snapshot: BrokersSnapshot) -> Iterator[tuple[Metric, float | None]]:
    cluster, brokers = snapshot.cluster, snapshot.brokers
    reachable = sum(broker.is_reachable for broker in brokers)
    yield catalog.CLUSTER_BROKERS, reachable
    yield catalog.CLUSTER_BROKERS_AWAY, len(brokers) - reachable
    yield catalog.CLUSTER_TOPICS, cluster.topic_count
    yield catalog.CLUSTER_PARTITIONS, cluster.partition_count
    yield catalog.CLUSTER_UNDER_REPLICATED, cluster.under_replicated_count
    yield catalog.CLUSTER_OFFLINE, cluster.offline_count
    yield catalog.CLUSTER_CONTROLLERS, snapshot.controllers
    yield catalog.CLUSTER_LEADER_IMBALANCE, leader_imbalance(brokers)
    yield catalog.CLUSTER_TRAFFIC_IMBALANCE, traffic_imbalance(brokers)


def _of_broker(broker: BrokerFigures) -> Iterator[tuple[Metric, float | None]]:
    yield catalog.BROKER_UP, broker.is_reachable
    yield catalog.BROKER_PARTITIONS, broker.replica_count
    yield catalog.BROKER_LEADERS, broker.leader_count
    yield catalog.BROKER_DISK_BYTES, broker.disk_bytes
    yield catalog.BROKER_DISK_USED, broker.disk_used


def _of_measures(found: BrokerMeasures) -> Iterator[tuple[Metric, float | None]]:
    yield catalog.BROKER_CONTROLLER, found.active_controller
    yield catalog.BROKER_UNDER_REPLICATED, found.under_replicated
    yield catalog.BROKER_UNDER_MIN_ISR, found.under_min_isr
    yield catalog.BROKER_AT_MIN_ISR, found.at_min_isr
    yield catalog.BROKER_OFFLINE_REPLICAS, found.offline_replicas
    yield catalog.BROKER_OFFLINE_PARTITIONS, found.offline_partitions
    yield catalog.BROKER_PREFERRED_IMBALANCE, found.preferred_imbalance
    yield catalog.BROKER_BYTES_IN, found.bytes_in
    yield catalog.BROKER_BYTES_OUT, found.bytes_out
    yield catalog.BROKER_RECORDS_IN, found.records_in
    yield catalog.BROKER_BYTES_IN_RATE, found.bytes_in_per_second
    yield catalog.BROKER_BYTES_OUT_RATE, found.bytes_out_per_second
    yield catalog.BROKER_RECORDS_IN_RATE, found.records_in_per_second
    yield catalog.BROKER_ISR_SHRINKS, found.isr_shrinks
    yield catalog.BROKER_ISR_EXPANDS, found.isr_expands
    yield catalog.BROKER_CONNECTIONS, found.connections
    yield catalog.BROKER_AUTHENTICATIONS, found.authentications
    yield catalog.BROKER_LOG_FLUSHES, found.log_flushes
    yield catalog.BROKER_HEAP, found.heap_bytes
    yield catalog.BROKER_HEAP_LIMIT, found.heap_limit_bytes


def _labelled(found: BrokerMeasures, broker: str) -> Iterator[Sample]:
    for request, count in found.requests.items():
        yield sample(catalog.BROKER_REQUESTS, count, broker=broker, request=request)
    for times in found.request_times:
        for part, quantiles in times.seconds.items():
            for quantile, seconds in quantiles.items():
                yield sample(
                    catalog.BROKER_REQUEST_SECONDS,
                    seconds,
                    broker=broker,
                    request=times.request,
                    part=part,
                    quantile=quantile,
                )
    for quantile, seconds in found.log_flush_seconds.items():
        yield sample(catalog.BROKER_LOG_FLUSH_SECONDS, seconds, broker=broker, quantile=quantile)
