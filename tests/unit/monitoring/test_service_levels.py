"""Whether promises are kept: measured from a history whose every value is known."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.monitoring.catalog import Sample, histogram_samples, sample
from penstock.monitoring.catalog.flows import FLOW_LAG_SECONDS, FLOW_RUNNING, LATENCY, PIPELINE_UP
from penstock.monitoring.history import History
from penstock.monitoring.service_levels import (
    Compliance,
    compliance,
    samples_of_levels,
    within,
)
from penstock.names import PipelineName
from penstock.pipeline import (
    Flow,
    RealTime,
    ServiceLevelFlowError,
    UnmeasurableServiceLevelError,
    check_levels,
)
from penstock.settings import Measure, ServiceLevel
from support.declared import declared_flow

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOUR = 3600.0
SHOP = PipelineName("shop")


def level(
    measure: Measure, *, share: float, threshold: float | None = None, flow: str | None = None
) -> ServiceLevel:
    return ServiceLevel(
        name="l",
        measure=measure,
        share=share,
        over_seconds=HOUR,
        threshold_seconds=threshold,
        flow=flow,
    )


def flow(name: str) -> Flow:
    return declared_flow(name, reads="lines", into="cleaned")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "history.sqlite") as opened:
        yield opened


def filled(history: History, minutes: Sequence[Sequence[Sample]]) -> datetime:
    """Add what was measured in each minute, six times, and return when the last one is over."""
    for number, samples in enumerate(minutes):
        for second in range(0, 60, 10):
            history.add(NOON + timedelta(minutes=number, seconds=second), samples)
    return NOON + timedelta(minutes=len(minutes))


def measured(history: History, asked: ServiceLevel, now: datetime) -> Compliance:
    return compliance(history, SHOP, asked, now=now)


def latencies(fast: int, slow: int, flow: str = "by_ip") -> list[Sample]:
    counts = {0.001: 0, 0.002: fast, 0.004: fast + slow, math.inf: fast + slow}
    return list(histogram_samples(LATENCY, counts, 0.0, pipeline=SHOP, flow=flow))


def test_two_milliseconds_for_85_percent_are_kept_or_broken(history: History) -> None:
    now = filled(history, [latencies(0, 0), latencies(80, 20), latencies(170, 30)])

    kept = measured(history, level(Measure.LATENCY, share=0.85, threshold=0.002), now)
    broken = measured(history, level(Measure.LATENCY, share=0.9, threshold=0.002), now)

    assert (kept.kept, kept.measured, kept.share) == (170, 200, 0.85)
    assert (kept.is_broken, broken.is_broken) == (False, True)
    assert kept.budget_left == pytest.approx(0)
    assert broken.budget_left == pytest.approx(-0.5)


def test_the_latency_of_a_pipeline_is_that_of_all_its_flows(history: History) -> None:
    first = [*latencies(0, 0), *latencies(0, 0, flow="other")]
    now = filled(history, [first, [*latencies(100, 0), *latencies(0, 300, flow="other")]])

    whole = measured(history, level(Measure.LATENCY, share=0.5, threshold=0.002), now)
    one = measured(history, level(Measure.LATENCY, share=0.5, threshold=0.002, flow="by_ip"), now)

    assert (whole.share, one.share) == (0.25, 1)


def test_only_what_was_counted_since_counts(history: History) -> None:
    """The count that a driver begins with, and one that begins anew, are no records of the hour."""
    now = filled(history, [latencies(900, 0), latencies(900, 50), latencies(10, 0)])

    found = measured(history, level(Measure.LATENCY, share=0.5, threshold=0.002), now)
    assert (found.kept, found.measured) == (10, 60)


def test_lag_is_measured_in_time_by_the_worst_flow(history: History) -> None:
    def lags(first: float, second: float) -> list[Sample]:
        return [
            sample(FLOW_LAG_SECONDS, first, pipeline=SHOP, flow="a"),
            sample(FLOW_LAG_SECONDS, second, pipeline=SHOP, flow="b"),
        ]

    now = filled(history, [lags(0, 0), lags(9, 0), lags(0, 9), lags(5, 0)])

    whole = measured(history, level(Measure.LAG_SECONDS, share=0.9, threshold=5), now)
    one = measured(history, level(Measure.LAG_SECONDS, share=0.7, threshold=5, flow="b"), now)

    assert (whole.share, whole.is_broken) == (0.5, True)
    assert (one.share, one.is_broken) == (0.75, False)


def test_no_lag_is_kept_while_no_driver_runs(history: History) -> None:
    """Of a pipeline that is away no lag is known: that is no time in which it kept up."""

    def minute(*, up: bool) -> list[Sample]:
        lag = [sample(FLOW_LAG_SECONDS, 1, pipeline=SHOP, flow="a")] if up else []
        return [sample(PIPELINE_UP, up, pipeline=SHOP), *lag]

    now = filled(history, [minute(up=True), minute(up=False), minute(up=False), minute(up=True)])

    whole = measured(history, level(Measure.LAG_SECONDS, share=0.9, threshold=5), now)
    one = measured(history, level(Measure.LAG_SECONDS, share=0.4, threshold=5, flow="a"), now)

    assert (whole.share, whole.is_broken) == (0.5, True)
    assert (one.share, one.is_broken) == (0.5, False)


def test_a_driver_that_runs_and_knows_no_lag_has_measured_none(history: History) -> None:
    now = filled(history, [[sample(PIPELINE_UP, 1, pipeline=SHOP)]] * 3)

    found = measured(history, level(Measure.LAG_SECONDS, share=0.9, threshold=5), now)
    assert found.share is None


def test_availability_is_the_share_of_the_time_that_was_measured(history: History) -> None:
    up, down = (
        [
            sample(PIPELINE_UP, value, pipeline=SHOP),
            sample(FLOW_RUNNING, 0, pipeline=SHOP, flow="a"),
        ]
        for value in (1, 0)
    )
    now = filled(history, [up, up, down, up])
    # Nobody measured for a while: neither up nor down.
    history.add(now + timedelta(minutes=30), up)

    found = measured(history, level(Measure.AVAILABILITY, share=0.7), now + timedelta(minutes=31))
    flow = measured(history, level(Measure.AVAILABILITY, share=0.7, flow="a"), now)

    assert found.share == pytest.approx(190 / 250)
    assert (flow.share, flow.is_broken) == (0, True)


def test_without_measurements_nothing_is_said(history: History) -> None:
    found = measured(history, level(Measure.LATENCY, share=0.85, threshold=0.002), NOON)

    assert (found.share, found.budget_left, found.is_broken) == (None, None, False)
    assert [each.metric for each in samples_of_levels([found])] == [
        "penstock_service_level_target_ratio"
    ]


def test_what_is_measured_becomes_metrics(history: History) -> None:
    now = filled(history, [latencies(0, 0), latencies(95, 5)])
    found = measured(history, level(Measure.LATENCY, share=0.9, threshold=0.002), now)

    assert {
        each.metric.removeprefix("penstock_service_level_"): each.value
        for each in samples_of_levels([found])
    } == {
        "target_ratio": 0.9,
        "compliance_ratio": 0.95,
        "budget_left_ratio": pytest.approx(0.5),
    }
    assert {each.labels for each in samples_of_levels([found])} == {
        (("pipeline", "shop"), ("service_level", "l"))
    }


def test_a_promise_about_a_flow_that_there_is_not_is_refused() -> None:
    asked = [level(Measure.AVAILABILITY, share=0.9, flow="by_pi")]

    check_levels(asked, [flow("by_pi")])
    with pytest.raises(
        ServiceLevelFlowError, match="about the flow `by_pi`; the flows are `by_ip`"
    ):
        check_levels(asked, [flow("by_ip")])


def test_the_latency_of_a_real_time_flow_is_no_promise() -> None:
    """It would be shown as not measured for good."""
    fast, slow = replace(flow("fast"), trigger=RealTime()), flow("slow")
    of_fast = level(Measure.LATENCY, share=0.85, threshold=0.002, flow="fast")
    of_all = level(Measure.LATENCY, share=0.85, threshold=0.002)
    lag = level(Measure.LAG_SECONDS, share=0.85, threshold=5, flow="fast")

    check_levels([of_all, lag], [fast, slow])
    for asked, flows in ((of_fast, [fast, slow]), (of_all, [fast])):
        with pytest.raises(UnmeasurableServiceLevelError, match="the latency of `fast`"):
            check_levels([asked], flows)


bounds = (0.001, 0.002, 0.005, 0.01, math.inf)


@given(values=st.lists(st.floats(0, 0.02), max_size=30), threshold=st.sampled_from(bounds[:-1]))
def test_at_a_bound_the_count_is_exact(values: list[float], threshold: float) -> None:
    counts = {bound: float(sum(value <= bound for value in values)) for bound in bounds}

    assert within(counts, threshold) == sum(value <= threshold for value in values)


@given(
    values=st.lists(st.floats(0, 0.02), max_size=30),
    thresholds=st.tuples(st.floats(0.0001, 0.03), st.floats(0.0001, 0.03)),
)
def test_a_longer_time_is_never_kept_less_often(
    values: list[float], thresholds: tuple[float, float]
) -> None:
    counts = {bound: float(sum(value <= bound for value in values)) for bound in bounds}
    short, long = sorted(thresholds)

    assert 0 <= within(counts, short) <= within(counts, long) <= len(values)


def test_between_two_bounds_a_threshold_takes_its_share() -> None:
    assert within({0.002: 10, 0.004: 30, math.inf: 50}, 0.003) == 20
    assert within({0.002: 10, 0.004: 30, math.inf: 50}, 60) == 30
