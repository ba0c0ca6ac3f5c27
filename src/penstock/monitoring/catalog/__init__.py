"""Every metric there is: the page of the documentation, `/metrics` and the explorer follow it."""

from penstock.monitoring.catalog.brokers import BROKERS
from penstock.monitoring.catalog.clients import CLIENTS
from penstock.monitoring.catalog.flows import FLOWS
from penstock.monitoring.catalog.groups import GROUPS
from penstock.monitoring.catalog.hosts import HOSTS
from penstock.monitoring.catalog.metric import (
    Labels,
    Metric,
    MetricKind,
    MetricName,
    Sample,
    Unit,
    bound_text,
    histogram_samples,
    sample,
)
from penstock.monitoring.catalog.registry import REGISTRY
from penstock.monitoring.catalog.service_levels import SERVICE_LEVELS
from penstock.monitoring.catalog.topics import TOPICS

NOUNS = {
    "Pipelines and their flows": FLOWS,
    "Service levels": SERVICE_LEVELS,
    "Consumer groups": GROUPS,
    "Topics": TOPICS,
    "Brokers": BROKERS,
    "Hosts": HOSTS,
    "Producers and consumers": CLIENTS,
    "The schema registry": REGISTRY,
}
"""What is measured, by the headings under which people look for it."""

CATALOG: tuple[Metric, ...] = tuple(metric for metrics in NOUNS.values() for metric in metrics)

METRICS = {metric.name: metric for metric in CATALOG}
"""The entries by name."""

SERIES = {name: metric for metric in CATALOG for name in metric.series}
"""The entry that each name of a sample belongs to: those of a histogram's three series too."""

__all__ = [
    "CATALOG",
    "METRICS",
    "NOUNS",
    "SERIES",
    "Labels",
    "Metric",
    "MetricKind",
    "MetricName",
    "Sample",
    "Unit",
    "bound_text",
    "histogram_samples",
    "sample",
]
