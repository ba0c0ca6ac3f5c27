"""The metrics query API: the course's own query, wrong queries, and the arithmetic of answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.monitoring.broker_measures import BrokerMeasures, measures
from penstock.monitoring.broker_samples import samples_of
from penstock.monitoring.brokers import snapshot_of
from penstock.monitoring.catalog import Sample, sample
from penstock.monitoring.catalog.brokers import BROKER_BYTES_OUT
from penstock.monitoring.catalog.flows import INPUT_RECORDS
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG_SECONDS, GROUP_PARTITION_LAG
from penstock.monitoring.catalog.topics import TOPIC_BYTES
from penstock.monitoring.exporters import Shown
from penstock.monitoring.history import History
from penstock.monitoring.querying import ALIASES, QueryError, answer, parsed_question
from penstock.names import BrokerId
from support.measured import MEASURED, described_cluster

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CLUSTER = "lkc-o36739"
LAG = GROUP_PARTITION_LAG.name


def lag(value: float, *, group: str = "g", topic: str = "t", partition: int = 0) -> Sample:
    return sample(GROUP_PARTITION_LAG, value, group=group, topic=topic, partition=str(partition))


def read(value: float, flow: str) -> Sample:
    return sample(INPUT_RECORDS, value, pipeline="p", flow=flow)


def query(metric: str, agg: str | None = None, **other: object) -> dict[str, Any]:
    aggregation = {"metric": metric} | ({"agg": agg} if agg else {})
    return {
        "aggregations": [aggregation],
        "granularity": "PT1M",
        "intervals": ["2026-05-04T12:00:00Z/PT1H"],
        **other,
    }


def asked(
    history: History, body: Mapping[str, Any], page_token: str | None = None
) -> dict[str, Any]:
    question = parsed_question(json.dumps(body).encode(), now=NOON + timedelta(hours=1))
    found = answer(question, history, cluster_id=CLUSTER, page_token=page_token)
    return found.as_dict()


def rows(history: History, body: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows without the names of their fields, the hour and minute first."""
    data = asked(history, body)["data"]
    return [(row["timestamp"][11:16], *list(row.values())[1:]) for row in data]


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "history.sqlite") as opened:
        for minute in range(10):
            for second in range(0, 60, 10):
                passed = 60 * minute + second
                opened.add(
                    NOON + timedelta(seconds=passed),
                    [
                        *(lag(10 * p + minute, partition=p) for p in (0, 2, 9, 10)),
                        lag(1000, group="other", topic="u"),
                        read(passed, "slow"),
                        read(3 * passed, "fast"),
                        sample(GROUP_MAX_LAG_SECONDS, minute, group="g"),
                        sample(GROUP_MAX_LAG_SECONDS, 5, group="h"),
                    ],
                )
        yield opened


def test_points_are_summed_over_series_and_carry_the_time_in_utc(history: History) -> None:
    body = query(LAG, intervals=["2026-05-04T08:01:00-04:00/2026-05-04T08:03:00-04:00"])

    assert asked(history, body) == {
        "data": [
            {"timestamp": "2026-05-04T12:01:00Z", "value": 1214},
            {"timestamp": "2026-05-04T12:02:00Z", "value": 1218},
        ],
        "meta": {"pagination": {"page_size": 100}},
    }


def test_counts_are_answered_by_how_much_they_grew(history: History) -> None:
    body = query(INPUT_RECORDS.name, intervals=["2026-05-04T12:01:00Z/PT2M"])

    assert rows(history, body) == [("12:01", 240), ("12:02", 240)]
    assert rows(
        history,
        query(INPUT_RECORDS.name, "RATE")
        | body
        | {"aggregations": [{"metric": INPUT_RECORDS.name, "agg": "RATE"}]},
    ) == [("12:01", 4), ("12:02", 4)]


def test_groups_have_rows_of_their_own(history: History) -> None:
    body = query(
        INPUT_RECORDS.name, group_by=["metric.flow"], intervals=["2026-05-04T12:01:00Z/PT2M"]
    )
    assert asked(history, body)["data"] == [
        {"timestamp": "2026-05-04T12:01:00Z", "value": 180, "metric.flow": "fast"},
        {"timestamp": "2026-05-04T12:01:00Z", "value": 60, "metric.flow": "slow"},
        {"timestamp": "2026-05-04T12:02:00Z", "value": 180, "metric.flow": "fast"},
        {"timestamp": "2026-05-04T12:02:00Z", "value": 60, "metric.flow": "slow"},
    ]


def test_the_query_of_the_course_is_answered_as_it_is_printed(tmp_path: Path) -> None:
    """Bytes that a cluster sent, minute by minute, over one hour of New York's time."""
    began = datetime(2022, 8, 2, 18, 56, tzinfo=UTC)
    body = b"""
        {"aggregations":[{"metric":"io.confluent.kafka.server/sent_bytes"}],
         "filter":{"op":"OR","filters":[{"field":"resource.kafka.id","op":"EQ","value":"lkc-o36739"}]},
         "granularity":"PT1M",
         "intervals":["2022-08-02T14:56:00-04:00/2022-08-02T15:56:00-04:00"],
         "limit":1000}"""
    with History.open(tmp_path / "history.sqlite") as history:
        for second in range(-60, 3660, 10):
            history.add(
                began + timedelta(seconds=second),
                [sample(BROKER_BYTES_OUT, 100 * (second + 60), broker=b) for b in ("1", "2")],
            )
        question = parsed_question(body, now=NOON)
        ours = answer(question, history, cluster_id=CLUSTER).as_dict()["data"]
        others = answer(question, history, cluster_id="lkc-000000").as_dict()["data"]

    assert ours == [
        {
            "timestamp": (began + timedelta(minutes=minute)).isoformat().replace("+00:00", "Z"),
            "value": 12_000,
        }
        for minute in range(60)
    ]
    assert others == []


MEANT = {
    "received_bytes": 20,
    "sent_bytes": 40,
    "received_records": 60,
    "request_count": 30,
    "active_connection_count": 10,
    "successful_authentication_count": 80,
    "partition_count": 60,
    "retained_bytes": 700,
}


@pytest.mark.parametrize(("alias", "value"), MEANT.items())
def test_the_dialects_names_mean_metrics_of_ours(tmp_path: Path, alias: str, value: float) -> None:
    """Of two brokers, of which each shows the same, between two looks."""

    def shown(looks: int) -> BrokerMeasures:
        text = "".join(
            f'kafka_network_requestmetrics_requests_total{{request="{request}"}} {count}\n'
            for request, count in (
                ("Produce", 5 * looks),
                ("Fetch", 10 * looks),
                ("FetchConsumer", 7 * looks),
                ("FetchFollower", 3 * looks),
            )
        )
        return replace(
            MEASURED,
            bytes_in=10 * looks,
            bytes_out=20 * looks,
            records_in=30 * looks,
            authentications=40 * looks,
            connections=5,
            requests=measures(Shown(text)).requests,
        )

    with History.open(tmp_path / "history.sqlite") as history:
        for looks, at in enumerate((NOON, NOON + timedelta(seconds=10))):
            brokers = {BrokerId(number): shown(looks) for number in (1, 2)}
            looked = snapshot_of(described_cluster(1, 2), brokers, {}, at=at)
            of_topics = [sample(TOPIC_BYTES, size, topic=str(size)) for size in (300, 400)]
            history.add(at, [*samples_of(looked), *of_topics])
        found = rows(history, query(f"io.confluent.kafka.server/{alias}"))

    assert found == [("12:00", value)]


def test_every_name_of_the_dialect_is_tried() -> None:
    assert set(MEANT) == set(ALIASES)


@pytest.mark.parametrize(
    ("agg", "expected"), [("SUM", 1214), ("AVG", 242.8), ("MIN", 1), ("MAX", 1000)]
)
def test_series_are_aggregated_as_asked(history: History, agg: str, expected: float) -> None:
    body = query(LAG, agg, intervals=["2026-05-04T12:01:00Z/PT1M"])

    ((_, value),) = rows(history, body)
    assert value == pytest.approx(expected)


def test_seconds_of_several_groups_are_not_added_up_unless_asked(history: History) -> None:
    usual = query(GROUP_MAX_LAG_SECONDS.name, intervals=["2026-05-04T12:03:00Z/PT1M"])

    assert rows(history, usual) == [("12:03", 5)]
    usual["aggregations"][0]["agg"] = "SUM"
    assert rows(history, usual) == [("12:03", 8)]


def field(name: str, op: str, value: object) -> dict[str, Any]:
    return {"field": name, "op": op, "value": value}


@pytest.mark.parametrize(
    ("filter_", "partitions"),
    [
        (field("metric.partition", "EQ", "2"), ["2"]),
        (field("metric.partition", "EQ", 2), ["2"]),
        (field("metric.partition", "GT", 2), ["10", "9"]),
        (field("metric.partition", "GTE", "9"), ["10", "9"]),
        (field("metric.partition", "LT", 9), ["0", "2"]),
        (field("metric.partition", "LTE", 0), ["0"]),
        (field("resource.kafka.id", "EQ", "another"), []),
        (
            {
                "op": "AND",
                "filters": [
                    field("metric.partition", "GT", 0),
                    {"op": "NOT", "filter": field("metric.partition", "EQ", 9)},
                    {
                        "op": "OR",
                        "filters": [
                            field("metric.topic", "GT", "s"),
                            field("resource.kafka.id", "EQ", CLUSTER),
                        ],
                    },
                ],
            },
            ["10", "2"],
        ),
    ],
)
def test_filters_choose_series(
    history: History, filter_: dict[str, Any], partitions: list[str]
) -> None:
    body = query(
        LAG,
        group_by=["metric.partition"],
        granularity="ALL",
        filter={"op": "AND", "filters": [field("metric.group", "EQ", "g"), filter_]},
    )
    assert [row[-1] for row in rows(history, body)] == partitions


def test_one_point_for_all_of_an_interval_begins_with_it(history: History) -> None:
    body = query(INPUT_RECORDS.name, granularity="ALL", intervals=["2026-05-04T12:00:30Z/PT5M"])

    assert asked(history, body)["data"] == [{"timestamp": "2026-05-04T12:00:30Z", "value": 1200}]


@pytest.mark.parametrize(
    "interval",
    [
        "2026-05-04T12:01:00Z/2026-05-04T12:03:00Z",
        "2026-05-04T12:01:00Z/PT2M",
        "2026-05-04T12:01Z/PT1M60S",
        "PT2M/2026-05-04T14:03:00+02:00",
        "P1DT2M/2026-05-04T12:03:00Z",
    ],
)
def test_intervals_may_be_written_in_each_way_of_iso_8601(history: History, interval: str) -> None:
    found = rows(history, query(INPUT_RECORDS.name, intervals=[interval]))

    assert found[-2:] == [("12:01", 240), ("12:02", 240)]


def test_an_interval_may_end_now(history: History) -> None:
    body = query(INPUT_RECORDS.name, granularity="PT1H", intervals=["PT1H/now"])

    ((at, value),) = rows(history, body)
    assert (at, value) == ("12:00", pytest.approx(4 * 590))


def test_intervals_are_answered_together(history: History) -> None:
    body = query(
        INPUT_RECORDS.name,
        intervals=["2026-05-04T12:05:00Z/PT1M", "2026-05-04T12:01:00Z/PT1M"],
    )
    assert rows(history, body) == [("12:01", 240), ("12:05", 240)]


def test_what_is_behind_the_limit_comes_with_the_token(history: History) -> None:
    body = query(INPUT_RECORDS.name, limit=4)
    pages, token = [], None
    while True:
        page = asked(history, body, token)
        pages.append([row["timestamp"][14:16] for row in page["data"]])
        token = page["meta"]["pagination"].get("next_page_token")
        if token is None:
            break

    assert pages == [["00", "01", "02", "03"], ["04", "05", "06", "07"], ["08", "09"]]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "the query is not JSON of an object: Invalid JSON: EOF while parsing"),
        (b"[]", "the query is not JSON of an object: "),
        (
            query("kafka_consumergroup_group_lagg"),
            "there is no metric `kafka_consumergroup_group_lagg`; did you mean "
            "`kafka_consumergroup_group_lag`?",
        ),
        (query("io.confluent.kafka.server/nonsense"), "there is no metric `io.confluent.kafka."),
        (query(LAG, agg="MEDIAN"), "`aggregations.0.agg` of the query: input should be 'SUM', "),
        (query(LAG, agg="RATE"), f"`{LAG}` is a gauge and has no `RATE`"),
        (query(LAG) | {"aggregations": []}, "`aggregations` of the query: list should have at "),
        (query(LAG, granularity="PT7M"), "`granularity` of the query: input should be 'PT10S', "),
        (query(LAG, intervals=[]), "`intervals` of the query: list should have at least 1 item"),
        (query(LAG, intervals=["today"]), "`today` is not an interval such as "),
        (query(LAG, intervals=["a/b/c"]), "`a/b/c` is not an interval such as "),
        (query(LAG, intervals=["2026-05-04T12:00/PT1H"]), "the time `2026-05-04T12:00` has no of"),
        (query(LAG, intervals=["2026-13-04T12:00Z/PT1H"]), "`2026-13-04T12:00Z` is not a time "),
        (query(LAG, intervals=["2026-05-04T12:00Z/P1M"]), "`P1M` is not a duration such as "),
        (query(LAG, intervals=["2026-05-04T12:00Z/P"]), "`P` is not a duration such as "),
        (query(LAG, intervals=["PT1H/PT1H"]), "`PT1H` is not a time such as "),
        (query(LAG, intervals=["P99999999999D/now"]), "`P99999999999D` is longer than any int"),
        (query(LAG, intervals=["P9999999D/now"]), "`P9999999D/now` leaves the years that there "),
        (
            query(LAG, intervals=["2026-05-04T12:00Z/2026-05-04T11:00Z"]),
            "the interval `2026-05-04T12:00Z/2026-05-04T11:00Z` ends before it begins",
        ),
        (query(LAG, limit=0), "`limit` of the query: input should be greater than or equal to 1"),
        (query(LAG, limit=1001), "`limit` of the query: input should be less than or equal to 1"),
        (
            query(LAG, group_by=["metric.flow"]),
            f"`{LAG}` has no field `metric.flow`; it has `resource.kafka.id`, `metric.group`, "
            "`metric.topic`, `metric.partition`",
        ),
        (query(LAG, filter=field("topic", "EQ", "t")), f"`{LAG}` has no field `topic`; it has "),
        (
            query(LAG, filter=field("metric.topic", "LIKE", "t")),
            "`filter.op` of the query: input should be 'EQ', 'GT', ",
        ),
        (
            query(LAG, filter={"op": "OR", "filters": []}),
            "`filter.filters` of the query: list should have at least 1 item",
        ),
        (query(LAG, filter={"op": "NOT"}), "`filter.filter` of the query: field required"),
        (query(LAG, having=1), "`having` of the query: extra inputs are not permitted"),
    ],
)
def test_a_wrong_query_is_told_its_first_fault_in_one_sentence(
    history: History, body: object, sentence: str
) -> None:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()

    with pytest.raises(QueryError) as refused:
        answer(parsed_question(text, now=NOON), history, cluster_id=CLUSTER)
    assert refused.value.message.startswith(sentence)


@pytest.mark.parametrize("token", ["x", "LTE=", "!!!!", "bm9uZQ=="])
def test_a_page_that_no_answer_named_is_refused(history: History, token: str) -> None:
    with pytest.raises(QueryError, match="none of an answer's"):
        asked(history, query(LAG), token)


def test_a_filter_nested_without_end_is_refused_like_any_other(history: History) -> None:
    deep = '{"op": "NOT", "filter": ' * 5000 + "1" + "}" * 5000
    body = json.dumps(query(LAG))[:-1] + f', "filter": {deep}}}'

    with pytest.raises(QueryError, match="is not JSON of an object"):
        answer(parsed_question(body.encode(), now=NOON), history, cluster_id=CLUSTER)


def test_a_query_that_would_read_too_much_says_how_much(history: History) -> None:
    body = query(LAG, granularity="PT10S", intervals=["P300D/2026-05-04T12:00:00Z"])

    with pytest.raises(QueryError, match="would read 5 series in 2592001 steps"):
        asked(history, body)


values = st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4), min_size=1, max_size=40)


def aggregated(agg: str, numbers: Sequence[float]) -> float:
    if agg in ("MIN", "MAX"):
        return min(numbers) if agg == "MIN" else max(numbers)
    return sum(numbers) / (len(numbers) if agg == "AVG" else 1)


@given(
    values=values,
    agg=st.sampled_from(["SUM", "AVG", "MIN", "MAX"]),
    minutes=st.sampled_from([1, 5, 10]),
    by=st.sampled_from([[], ["metric.topic"], ["metric.group", "metric.topic"]]),
    counts=st.booleans(),
)
@settings(max_examples=25)
def test_every_aggregation_is_what_a_slow_computation_says(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[list[int]],
    agg: str,
    minutes: int,
    by: list[str],
    *,
    counts: bool,
) -> None:
    """One value each minute, on the minute: what a step is can be said without splitting any."""
    names = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    totals = [
        [sum(row[n] for row in values[: i + 1]) for n in range(4)] for i in range(len(values))
    ]
    metric = INPUT_RECORDS.name if counts else LAG
    labels = ("pipeline", "flow") if counts else ("group", "topic")
    by = [
        {"metric.group": f"metric.{labels[0]}", "metric.topic": f"metric.{labels[1]}"}[x]
        for x in by
    ]
    path = tmp_path_factory.mktemp("history") / "history.sqlite"
    with History.open(path) as history:
        for i, row in enumerate(totals if counts else values):
            history.add(
                # A value of a count is read at the end of the minute in which it grew.
                NOON + timedelta(minutes=i + 1 if counts else i),
                [
                    sample(INPUT_RECORDS, value, pipeline=first, flow=second)
                    if counts
                    else lag(value, group=first, topic=second)
                    for value, (first, second) in zip(row, names, strict=True)
                ],
            )
        # The last value holds for ten seconds only: it is left out.
        last = len(values) - 1
        body = query(
            metric,
            agg,
            granularity=f"PT{minutes}M",
            group_by=by,
            limit=1000,
            intervals=[f"2026-05-04T12:00:00Z/PT{max(1, last + counts)}M"],
        )
        found = asked(history, body)["data"]

    expected = []
    for step in range(0, max(1, last + counts), minutes):
        keyed = sorted(
            (tuple({labels[0]: n[0], labels[1]: n[1]}[x[7:]] for x in by), i)
            for i, n in enumerate(names)
        )
        for key, members in groupby(keyed, key=lambda item: item[0]):
            per_series = []
            for _, n in members:
                # The first value of a count has nothing before it.
                inside = [
                    values[m][n]
                    for m in range(step, min(step + minutes, max(1, last + counts)))
                    if m > 0 or not counts
                ]
                if inside and counts:
                    per_series.append(float(sum(inside)))
                elif inside:
                    per_series.append(aggregated("AVG" if agg == "SUM" else agg, inside))
            if per_series:
                expected.append((step, key, aggregated(agg, per_series)))
    got = [
        (
            int((datetime.fromisoformat(row["timestamp"]) - NOON).total_seconds() // 60),
            tuple(row[name] for name in by),
            row["value"],
        )
        for row in found
    ]
    if last == 0 and not counts:
        return  # a single value: ten seconds of it
    assert [row[:2] for row in got] == [row[:2] for row in expected]
    assert [row[2] for row in got] == pytest.approx([row[2] for row in expected], abs=1e-6)
