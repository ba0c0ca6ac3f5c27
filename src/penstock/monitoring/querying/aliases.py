"""The names that Confluent Cloud's Metrics API has for what we measure too."""

from collections.abc import Mapping

from penstock.monitoring.catalog import SERIES, MetricName
from penstock.monitoring.catalog.brokers import (
    BROKER_AUTHENTICATIONS,
    BROKER_BYTES_IN,
    BROKER_BYTES_OUT,
    BROKER_CONNECTIONS,
    BROKER_RECORDS_IN,
    BROKER_REQUESTS,
    CLUSTER_PARTITIONS,
)
from penstock.monitoring.catalog.topics import TOPIC_BYTES
from penstock.monitoring.querying.errors import QueryError
from penstock.names import nearest

DIALECT = "io.confluent.kafka.server/"

ALIASES: Mapping[str, MetricName] = {
    alias: metric.name
    for alias, metric in {
        "received_bytes": BROKER_BYTES_IN,
        "sent_bytes": BROKER_BYTES_OUT,
        "received_records": BROKER_RECORDS_IN,
        "request_count": BROKER_REQUESTS,
        "active_connection_count": BROKER_CONNECTIONS,
        "successful_authentication_count": BROKER_AUTHENTICATIONS,
        "partition_count": CLUSTER_PARTITIONS,
        "retained_bytes": TOPIC_BYTES,
    }.items()
}
"""Ours by theirs. Brokers count no records that they send, so `sent_records` has none."""


def metric_named(name: str) -> MetricName:
    """Return the metric that a query means by `name`, which may be of the dialect.

    Raises:
        QueryError: there is none.
    """
    meant = ALIASES.get(name.removeprefix(DIALECT)) if name.startswith(DIALECT) else name
    if meant in SERIES:
        return MetricName(str(meant))
    known = [*SERIES, *(DIALECT + alias for alias in ALIASES)]
    close = nearest(name, known)
    ending = f"; did you mean `{close}`?" if close else ""
    reason = f"there is no metric `{name}`{ending}"
    raise QueryError(reason)
