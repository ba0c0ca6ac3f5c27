"""What goes into the history comes out again, whether it is fresh or summed up since."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.monitoring.catalog import Metric, Sample, sample
from penstock.monitoring.catalog.flows import INPUT_RECORDS
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from penstock.monitoring.history import (
    History,
    Series,
)

START = 1_780_000_200  # whole ten minutes
MINUTE, HOUR, DAY = 60, 3600, 86_400


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(START + seconds, UTC)


def lag(value: float, group: str = "a") -> Sample:
    return sample(GROUP_MAX_LAG, value, group=group)


def read(value: float, flow: str = "a") -> Sample:
    return sample(INPUT_RECORDS, value, pipeline="p", flow=flow)


def filled(history: History, rounds: Iterable[tuple[float, Sequence[Sample]]]) -> None:
    for at, samples in rounds:
        history.add(moment(at), samples)


def points(
    history: History,
    metric: Metric,
    since: float,
    until: float,
    step: float | None,
) -> list[tuple[float, float]]:
    """Return the points of the only series, in seconds since START."""
    found = asked(history, metric, since, until, step)
    assert len(found) <= 1
    return [(point.at.timestamp() - START, point.value) for each in found for point in each.points]


def asked(
    history: History, metric: Metric, since: float, until: float, step: float | None
) -> list[Series]:
    return history.series(
        metric.name,
        since=moment(since),
        until=moment(until),
        step=None if step is None else timedelta(seconds=step),
    )


@pytest.fixture
def history(tmp_path: Path) -> Iterable[History]:
    with History.open(tmp_path / "history.sqlite") as opened:
        yield opened


def test_a_value_holds_until_the_next_one(history: History) -> None:
    filled(history, [(0, [lag(4)]), (10, [lag(4)]), (20, [lag(8)])])

    assert points(history, GROUP_MAX_LAG, 0, 40, 10) == [(0, 4), (10, 4), (20, 8)]
    ((_, mean),) = points(history, GROUP_MAX_LAG, 0, 30, None)
    assert mean == pytest.approx(16 / 3)


def test_of_a_count_a_graph_shows_how_fast_it_grows(history: History) -> None:
    filled(history, [(0, [read(100)]), (10, [read(100)]), (20, [read(150)]), (30, [read(160)])])

    assert points(history, INPUT_RECORDS, 0, 40, 10) == [(0, 0), (10, 5), (20, 1), (30, 0)]


def test_a_count_that_begins_anew_never_falls(history: History) -> None:
    filled(history, [(0, [read(100)]), (10, [read(130)]), (20, [read(7)]), (30, [read(8)])])

    (series,) = asked(history, INPUT_RECORDS, 0, 40, None)
    assert [(point.growth, point.low, point.last) for point in series.points] == [(38, 7, 8)]


def test_series_are_found_by_their_labels(history: History) -> None:
    filled(history, [(0, [lag(1, "a"), lag(2, "b"), lag(3, "c")])])

    def found(where: object) -> list[str]:
        series = history.series(
            GROUP_MAX_LAG.name,
            where,  # type: ignore[arg-type] # both kinds, to keep the test short
            since=moment(0),
            until=moment(10),
            step=timedelta(seconds=10),
        )
        return [each.label["group"] for each in series]

    assert found(None) == ["a", "b", "c"]
    assert found({"group": "b"}) == ["b"]
    assert found(lambda labels: labels["group"] > "a") == ["b", "c"]
    assert found({"group": "d"}) == []
    assert [each.value for each in history.latest(GROUP_MAX_LAG.name, {"group": "c"})] == [3]


def test_a_series_that_rounds_name_no_more_ends(history: History) -> None:
    filled(history, [(at, [lag(1, "stays")]) for at in (0, 10, 20)])
    filled(history, [(20, [lag(5, "goes")])])
    filled(history, [(at, [lag(1, "stays")]) for at in range(30, 20 * MINUTE, 30)])

    ends = {
        (step, each.label["group"]): len(each.points)
        for step in (10, 60, 600)
        for each in asked(history, GROUP_MAX_LAG, 0, 20 * MINUTE, step)
    }
    assert ends == {
        (10, "stays"): 118,
        (60, "stays"): 20,
        (600, "stays"): 2,
        # From second 20 on, in minute 0 and in the ten minutes that it is in.
        (10, "goes"): pytest.approx(2, abs=4),
        (60, "goes"): pytest.approx(1, abs=1),
        (600, "goes"): 1,
    }
    assert [each.labels for each in history.latest(GROUP_MAX_LAG.name)] == [(("group", "stays"),)]


def test_a_series_that_comes_back_begins_again(history: History) -> None:
    filled(history, [(at, [lag(1, "stays"), lag(2, "b")]) for at in range(0, 60, 10)])
    filled(history, [(at, [lag(1, "stays")]) for at in range(60, 40 * MINUTE, 20)])
    filled(history, [(at, [lag(1, "stays"), lag(3, "b")]) for at in range(2400, 3600, 20)])

    (_, back) = [series.points for series in asked(history, GROUP_MAX_LAG, 0, HOUR, 600)][::-1]
    assert {point.value for point in back} == {2, 3}
    assert max(point.at for point in back if point.value == 2) <= moment(120)
    assert min(point.at for point in back if point.value == 3) >= moment(2400)


def test_a_restart_leaves_a_gap_and_no_jump(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History.open(path) as history:
        filled(history, [(at, [read(at)]) for at in range(0, 310, 10)])
    with History.open(path) as history:
        filled(history, [(at, [read(at)]) for at in range(600, 910, 10)])

        rates = points(history, INPUT_RECORDS, 0, 900, 60)
    assert [at for at, _ in rates] == [*range(0, 360, 60), *range(600, 900, 60)]
    assert [rate for _, rate in rates][:5] == pytest.approx([1] * 5)
    assert [rate for _, rate in rates][6:] == pytest.approx([1] * 5)


def test_a_round_without_values_for_over_a_minute_is_a_gap(history: History) -> None:
    filled(history, [(0, [lag(1)]), (10, [lag(1)]), (100, [lag(1)])])

    assert [at for at, _ in points(history, GROUP_MAX_LAG, 0, 110, 10)] == [0, 10, 100]


def test_values_that_are_not_finite_are_no_values(history: History) -> None:
    filled(history, [(0, [lag(float("inf")), lag(float("nan"), "b"), lag(1, "c")])])

    found = asked(history, GROUP_MAX_LAG, 0, 10, 10)
    assert [each.label["group"] for each in found] == ["c"]


def test_an_earlier_round_is_dropped_and_a_clock_set_back_is_followed(history: History) -> None:
    filled(history, [(100, [lag(1)]), (95, [lag(2)]), (-3600, [lag(3)]), (-3590, [lag(4)])])

    assert points(history, GROUP_MAX_LAG, -3600, -3580, 10) == [(-3600, 3), (-3590, 4)]
    assert points(history, GROUP_MAX_LAG, 90, 110, 10) == [(100, 1)]


@dataclass(frozen=True)
class Second:
    """What the slow computation below knows of one second."""

    value: float
    growth: float


def slowly(values: Sequence[tuple[int, float]], *, counts: bool) -> dict[int, Second]:
    """Compute what each second of a series was, from all of its values, one second at a time."""
    seconds = {}
    for index, (at, value) in enumerate(values):
        following = values[index + 1] if index + 1 < len(values) else None
        ends_here = following is None or following[0] - at > MINUTE
        until = at + 10 if ends_here or following is None else following[0]
        for second in range(at, until):
            growth = 0.0
            if counts and not ends_here and following is not None and second >= until - 10:
                after = following[1]
                growth = (after - value if after >= value else after) / 10
            seconds[second] = Second(value, growth)
    return seconds


rounds = st.lists(
    st.tuples(
        # 10 seconds apart, a round or some lost, or a gap.
        st.sampled_from([10, 10, 10, 10, 11, 13, 20, 60, 75, 700]),
        st.integers(0, 5) | st.sampled_from([0, 0, 1000]),
    ),
    min_size=1,
    max_size=90,
)


@given(
    rounds=rounds,
    offset=st.integers(0, 1300),
    reopened=st.integers(0, 90),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
@settings(max_examples=20)
def test_every_step_is_what_a_slow_computation_says(
    tmp_path_factory: pytest.TempPathFactory,
    rounds: list[tuple[int, int]],
    offset: int,
    reopened: int,
    cut: tuple[int, int],
) -> None:
    path = tmp_path_factory.mktemp("history") / "history.sqlite"
    values, at, count = [], offset, 0
    for pause, value in rounds:
        at, count = at + pause, (count + value if value != 1000 else 3)
        values.append((at, float(value), float(count)))
    # Whole ten minutes, whatever START is.
    since = (START + offset) // 600 * 600 - START
    until = (START + at) // 600 * 600 + 1200 - START

    history = History.open(path)
    for index, (at, level, count_) in enumerate(values):
        if index == reopened and at - values[index - 1][0] > MINUTE:
            history.close()
            history = History.open(path)
        history.add(moment(at), [lag(level), read(count_)])
    with history:
        for step in (10, 60, 120, 600, 3600):
            begins, ends = ((bound + START) // step * step - START for bound in (since, until))
            ends += step
            # Values that are not summed up can be asked for from any step on.
            if step == 10 and cut[0] + cut[1] < (ends - begins) // 10:
                begins, ends = begins + 10 * cut[0], ends - 10 * cut[1]
            for metric, column in ((GROUP_MAX_LAG, 1), (INPUT_RECORDS, 2)):
                counts = metric is INPUT_RECORDS
                seconds = slowly([(row[0], row[column]) for row in values], counts=counts)
                expected = []
                for begin in range(begins, ends, step):
                    there = [seconds[s] for s in range(begin, begin + step) if s in seconds]
                    if there:
                        growth = sum(second.growth for second in there)
                        mean = sum(second.value for second in there) / len(there)
                        low = min(second.value for second in there)
                        high = max(second.value for second in there)
                        expected.append((begin, mean, growth, low, high, there[-1].value))
                both = asked(history, metric, begins, ends, step)
                found = [
                    (
                        point.at.timestamp() - START,
                        point.value if not counts else None,
                        point.growth or 0,
                        point.low,
                        point.high,
                        point.last,
                    )
                    for series in both
                    for point in series.points
                ]
                assert [row[0] for row in found] == [row[0] for row in expected], step
                for ours, slow in zip(found, expected, strict=True):
                    assert ours[2:] == pytest.approx(slow[2:], abs=1e-6), step
                    if not counts:
                        assert ours[1] == pytest.approx(slow[1], abs=1e-6), step
