"""The catalog says what Prometheus' naming rules ask for."""

import re
from collections import Counter

from penstock.monitoring.catalog import CATALOG, SERIES, MetricKind

LEGAL_METRIC = re.compile(r"[a-z][a-z0-9_]*")
LEGAL_LABEL = re.compile(r"[a-z][a-z0-9_]*")


def test_no_two_metrics_share_a_name_or_a_series() -> None:
    names = Counter(name for metric in CATALOG for name in metric.series)
    assert [name for name, count in names.items() if count > 1] == []
    assert set(SERIES) == set(names)


def test_names_and_labels_are_those_that_prometheus_takes() -> None:
    wrong = [metric.name for metric in CATALOG if not LEGAL_METRIC.fullmatch(metric.name)]
    labels = [label for metric in CATALOG for label in metric.labels]
    assert wrong == []
    assert [label for label in labels if not LEGAL_LABEL.fullmatch(label) or label == "le"] == []


def test_what_only_grows_ends_with_total_and_nothing_else_does() -> None:
    wrong = [
        metric.name
        for metric in CATALOG
        if metric.name.endswith("_total") != (metric.kind is MetricKind.COUNTER)
    ]
    assert wrong == []


def test_every_meaning_is_a_sentence() -> None:
    wrong = [
        metric.name
        for metric in CATALOG
        if not metric.meaning.endswith(".") or not metric.meaning[0].isupper()
    ]
    assert wrong == []
