"""What Prometheus reads: checked by the parser of its own client library."""

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.monitoring.catalog import (
    CATALOG,
    Metric,
    MetricKind,
    MetricName,
    Sample,
    histogram_samples,
    sample,
)
from penstock.monitoring.catalog.flows import INPUT_RECORDS, LATENCY
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from penstock.monitoring.catalog.registry import REGISTRY
from penstock.monitoring.exposition import exposition, samples_in

HOSTILE = 'a"b\\c\nd{e="f"} 7\n# TYPE x counter\r\u2028<script>ü\x00'
FLOW = {"pipeline": "fraud", "flow": "by_ip"}


def test_a_counter_and_a_gauge_are_written_with_meaning_and_type() -> None:
    text = exposition(
        [sample(GROUP_MAX_LAG, 1.5, group="billing"), sample(INPUT_RECORDS, 7, **FLOW)]
    )

    assert text == (
        "# HELP penstock_flow_input_records_total Records that the flow has read.\n"
        "# TYPE penstock_flow_input_records_total counter\n"
        'penstock_flow_input_records_total{flow="by_ip",pipeline="fraud"} 7.0\n'
        "# HELP kafka_consumergroup_group_max_lag The lag of the group's slowest partition.\n"
        "# TYPE kafka_consumergroup_group_max_lag gauge\n"
        'kafka_consumergroup_group_max_lag{group="billing"} 1.5\n'
    )


def test_a_histogram_has_its_buckets_sum_and_count() -> None:
    text = exposition(histogram_samples(LATENCY, {0.002: 3, math.inf: 5, 1: 4}, 9.25, **FLOW))

    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert "# TYPE penstock_flow_latency_seconds histogram" in text
    assert lines == [
        'penstock_flow_latency_seconds_bucket{flow="by_ip",le="0.002",pipeline="fraud"} 3.0',
        'penstock_flow_latency_seconds_bucket{flow="by_ip",le="1.0",pipeline="fraud"} 4.0',
        'penstock_flow_latency_seconds_bucket{flow="by_ip",le="+Inf",pipeline="fraud"} 5.0',
        'penstock_flow_latency_seconds_sum{flow="by_ip",pipeline="fraud"} 9.25',
        'penstock_flow_latency_seconds_count{flow="by_ip",pipeline="fraud"} 5.0',
    ]


def test_hostile_names_of_groups_come_back_from_prometheus_parser_as_they_are() -> None:
    text = exposition([sample(GROUP_MAX_LAG, 1, group=HOSTILE)])

    (family,) = text_string_to_metric_families(text)
    assert [found.labels for found in family.samples] == [{"group": HOSTILE}]


def test_half_a_character_becomes_a_question_mark() -> None:
    (family,) = text_string_to_metric_families(
        exposition([sample(GROUP_MAX_LAG, 1, group="a\ud800b")])
    )
    assert family.samples[0].labels == {"group": "a?b"}


def test_of_two_values_of_a_series_the_later_one_is_written() -> None:
    text = exposition(sample(GROUP_MAX_LAG, value, group="a") for value in (1, 2))

    assert [line for line in text.splitlines() if line[0] != "#"] == [
        'kafka_consumergroup_group_max_lag{group="a"} 2.0'
    ]


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.1, 12345678901.0])
def test_any_number_is_read_back(value: float) -> None:
    (family,) = text_string_to_metric_families(
        exposition([sample(GROUP_MAX_LAG, value, group="a")])
    )
    assert family.samples[0].value == value


def test_every_metric_of_the_catalog_can_be_written_and_read() -> None:
    text = exposition(each for metric in CATALOG for each in _example(metric))

    families = list(text_string_to_metric_families(text))
    assert [(family.name, family.type, family.documentation) for family in families] == [
        (metric.name.removesuffix("_total"), metric.kind, metric.meaning) for metric in CATALOG
    ]


def test_a_metric_that_is_not_in_the_catalog_is_refused() -> None:
    with pytest.raises(KeyError, match="made_up"):
        exposition([Sample(metric=MetricName("made_up"), labels=(), value=1)])


def test_a_sample_has_exactly_the_labels_of_its_metric() -> None:
    with pytest.raises(ValueError, match="has the labels"):
        sample(GROUP_MAX_LAG, 1, topic="a")


def test_a_histogram_without_all_values_is_refused() -> None:
    with pytest.raises(ValueError, match="not at infinity"):
        list(histogram_samples(LATENCY, {1: 4}, 9.25, **FLOW))


def _example(metric: Metric) -> list[Sample]:
    labels = dict.fromkeys(metric.labels, "x")
    if metric.kind is MetricKind.HISTOGRAM:
        return list(histogram_samples(metric, {0.1: 1, math.inf: 2}, 3, **labels))
    return [sample(metric, 1, **labels)]


def test_what_another_process_tells_counts_as_far_as_it_was_asked_for() -> None:
    told = [
        *(sample(metric, 4, **dict.fromkeys(metric.labels, HOSTILE)) for metric in REGISTRY),
        sample(INPUT_RECORDS, 7, **FLOW),
    ]
    text = exposition(told).replace("penstock_registry_leads 4.0", "penstock_registry_leads NaN")

    found = samples_in(text + 'penstock_registry_subjects{of="no catalog"} 3\n', REGISTRY)

    assert {item.metric for item in found} == {item.name for item in REGISTRY} - {
        "penstock_registry_leads"
    }
    assert {item.value for item in found} == {4}
    assert samples_in("<html>{ this is no registry of ours", REGISTRY) == []
