"""Samples as Prometheus reads them: its text format, with HELP and TYPE from the catalog."""

import math
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.parser import text_string_to_metric_families

from penstock.monitoring.catalog import CATALOG, SERIES, Labels, Metric, MetricName, Sample

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""The media type of what `exposition` returns."""

_Values = Mapping[tuple[MetricName, Labels], float]


def exposition(samples: Iterable[Sample]) -> str:
    """Return the text that a scrape of `samples` answers with.

    Metrics come in the order of the catalog, those without samples are left out. Of two samples
    of the same series the later one counts: Prometheus refuses a text that says both.

    Raises:
        KeyError: a sample is of no metric of the catalog.
    """
    by_metric: dict[MetricName, dict[tuple[MetricName, Labels], float]] = {}
    for sample in samples:
        values = by_metric.setdefault(SERIES[sample.metric].name, {})
        values[sample.metric, sample.labels] = sample.value
    return generate_latest(_Families(by_metric)).decode()


def samples_in(text: str, metrics: Iterable[Metric]) -> list[Sample]:
    """Return the samples of `metrics` in what another process tells; nothing else of it counts.

    Empty for a text that is none of Prometheus'.
    """
    wanted = {
        name: frozenset(labels) for metric in metrics for name, labels in metric.series.items()
    }
    try:
        told = [item for family in text_string_to_metric_families(text) for item in family.samples]
    except ValueError:
        return []
    return [
        Sample(
            metric=MetricName(item.name),
            labels=tuple(sorted(item.labels.items())),
            value=item.value,
        )
        for item in told
        if wanted.get(MetricName(item.name)) == item.labels.keys() and math.isfinite(item.value)
    ]


class _Families:
    """What the library asks for metrics."""

    def __init__(self, by_metric: Mapping[MetricName, _Values]) -> None:
        self._by_metric = by_metric

    def collect(self) -> Iterator[Family]:
        for metric in CATALOG:
            if metric.name in self._by_metric:
                yield _family(metric, self._by_metric[metric.name])


def _family(metric: Metric, values: _Values) -> Family:
    # The library's name of a counter is the one without `_total`, which it writes itself.
    family = Family(metric.name.removesuffix("_total"), metric.meaning, metric.kind.value)
    for (name, labels), value in values.items():
        family.add_sample(name, {label: _encodable(text) for label, text in labels}, value)
    return family


def _encodable(text: str) -> str:
    """Return `text` without halves of characters, which names from Kafka may hold."""
    return text.encode(errors="replace").decode()
