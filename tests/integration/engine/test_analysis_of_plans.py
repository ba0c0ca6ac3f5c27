"""Which plans can run as streams: state, operators, output modes, real time."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from penstock.engine import SparkDriver
from penstock.engine.analysis import analyze
from penstock.engine.plan_checks import Fault, Finding, findings
from penstock.engine.plan_tree import plan_of, refusal
from penstock.pipeline import OutputMode
from support.projects import marked, places, project

APPEND, UPDATE, COMPLETE = OutputMode


@dataclass(frozen=True)
class Inputs:
    """Two streams with a watermark on `at`, two without, and a table."""

    a: DataFrame
    b: DataFrame
    bare_a: DataFrame
    bare_b: DataFrame
    static: DataFrame


def inputs_of(spark: SparkSession) -> Inputs:
    def stream(name: str) -> DataFrame:
        rows = spark.readStream.name(name).format("rate").load()
        return rows.select(
            F.col("timestamp").alias("at"),
            F.col("value").alias("n"),
            F.col("value").cast("string").alias("host"),
        )

    first, second = stream("a"), stream("b").toDF("at2", "n2", "host2")
    return Inputs(
        a=first.withWatermark("at", "1 minute"),
        b=second.withWatermark("at2", "1 minute"),
        bare_a=first,
        bare_b=second,
        static=spark.createDataFrame([], "host string, owner string"),
    )


SAME = "host = host2"
WITHIN = f"{SAME} AND at2 BETWEEN at AND at + INTERVAL 1 MINUTE"


def windowed(frame: DataFrame) -> DataFrame:
    return frame.groupBy(F.window("at", "10 minutes"), "host").count()


def by_hour(frame: DataFrame) -> DataFrame:
    return frame.groupBy(F.window(F.window_time("window"), "1 hour")).count()


# What the plan is, and the output modes it can have: the rows of Spark's own table, and fewer
# where state would only grow.
SHAPES: dict[str, tuple[Callable[[Inputs], DataFrame], set[OutputMode]]] = {
    "a filter": (lambda i: i.a.filter("n > 1"), {APPEND, UPDATE}),
    "a join with a table": (lambda i: i.a.join(i.static, "host"), {APPEND, UPDATE}),
    "a left join with a table": (lambda i: i.a.join(i.static, "host", "left"), {APPEND, UPDATE}),
    "a table left joined with a stream": (lambda i: i.static.join(i.a, "host", "left"), set()),
    "a union": (lambda i: i.a.union(i.b), {APPEND, UPDATE}),
    "distinct": (lambda i: i.bare_a.distinct(), set()),
    "distinct with event time": (lambda i: i.a.distinct(), {APPEND, UPDATE}),
    "duplicates by id": (lambda i: i.a.dropDuplicates(["host"]), set()),
    "duplicates by id and time": (lambda i: i.a.dropDuplicates(["host", "at"]), {APPEND, UPDATE}),
    "duplicates within the watermark": (
        lambda i: i.a.dropDuplicatesWithinWatermark(["host"]),
        {APPEND, UPDATE},
    ),
    "duplicates within no watermark": (
        lambda i: i.bare_a.dropDuplicatesWithinWatermark(["host"]),
        set(),
    ),
    "a running count": (lambda i: i.bare_a.groupBy("host").count(), {UPDATE, COMPLETE}),
    "one count of all": (lambda i: i.bare_a.agg(F.count("*")), {UPDATE, COMPLETE}),
    "windows": (lambda i: windowed(i.a), {APPEND, UPDATE, COMPLETE}),
    "windows without a watermark": (lambda i: windowed(i.bare_a), {COMPLETE}),
    "windows of windows": (lambda i: by_hour(windowed(i.a)), {APPEND}),
    "windows of deduplicated rows": (
        lambda i: windowed(i.a.dropDuplicates(["host", "at"])),
        {APPEND, UPDATE, COMPLETE},
    ),
    "windows of joined rows": (
        lambda i: windowed(i.a.join(i.b, F.expr(WITHIN))),
        {APPEND, UPDATE},
    ),
    "session windows": (
        lambda i: i.a.groupBy(F.session_window("at", "5 minutes"), "host").count(),
        {APPEND, COMPLETE},
    ),
    "an inner join": (lambda i: i.a.join(i.b, F.expr(WITHIN)), {APPEND, UPDATE}),
    "an inner join on equal times": (
        lambda i: i.a.join(i.b, F.expr(f"{SAME} AND at = at2")),
        {APPEND, UPDATE},
    ),
    "an inner join without a bound": (lambda i: i.a.join(i.b, F.expr(SAME)), set()),
    "an inner join with one watermark": (lambda i: i.a.join(i.bare_b, F.expr(WITHIN)), set()),
    "an inner join without watermarks": (
        lambda i: i.bare_a.join(i.bare_b, F.expr(WITHIN)),
        set(),
    ),
    "a left join": (lambda i: i.a.join(i.b, F.expr(WITHIN), "left"), {APPEND}),
    "a right join": (lambda i: i.a.join(i.b, F.expr(WITHIN), "right"), {APPEND}),
    "a full join": (lambda i: i.a.join(i.b, F.expr(WITHIN), "full"), {APPEND}),
    "a left join without a bound": (lambda i: i.a.join(i.b, F.expr(SAME), "left"), set()),
    "a semi join": (lambda i: i.a.join(i.b, F.expr(WITHIN), "left_semi"), {APPEND, UPDATE}),
    "an anti join": (lambda i: i.a.join(i.b, F.expr(WITHIN), "left_anti"), set()),
    "countDistinct": (
        lambda i: i.a.groupBy(F.window("at", "1 hour")).agg(F.countDistinct("host")),
        set(),
    ),
    "approx_count_distinct": (
        lambda i: i.a.groupBy(F.window("at", "1 hour")).agg(F.approx_count_distinct("host")),
        {APPEND, UPDATE, COMPLETE},
    ),
    "row_number": (
        lambda i: i.a.select(F.row_number().over(Window.partitionBy("host").orderBy("at"))),
        set(),
    ),
    "a sort": (lambda i: i.a.sort("n"), set()),
    "a sorted count": (lambda i: i.bare_a.groupBy("host").count().sort("count"), {COMPLETE}),
    "a limit": (lambda i: i.a.limit(5), {APPEND}),
    "an offset": (lambda i: i.a.offset(5), set()),
    "a sample": (lambda i: i.a.sample(0.5), set()),
    "an intersection": (lambda i: i.a.intersect(i.b), set()),
    "a difference": (lambda i: i.a.exceptAll(i.b), set()),
    "row numbers of tasks": (
        lambda i: i.a.withColumn("i", F.monotonically_increasing_id()),
        set(),
    ),
    "two watermarks": (lambda i: i.a.withWatermark("at", "5 minutes"), set()),
}


@dataclass(frozen=True)
class Judged:
    """What is found in a plan by output mode, and in which modes Spark itself would run it."""

    found: dict[OutputMode, list[Finding]]
    spark_runs: set[OutputMode]

    @property
    def modes(self) -> set[OutputMode]:
        return {mode for mode in self.spark_runs if not self.found[mode]}


@pytest.fixture(scope="module")
def judged(spark_driver: SparkDriver) -> dict[str, Judged]:
    inputs = inputs_of(spark_driver.session().newSession())
    return {name: _judged(build(inputs)) for name, (build, _) in SHAPES.items()}


def _judged(frame: DataFrame) -> Judged:
    plan = plan_of(frame)
    return Judged(
        found={mode: list(findings(plan, mode)) for mode in OutputMode},
        spark_runs={mode for mode in OutputMode if refusal(frame, mode) is None},
    )


def test_each_plan_has_the_output_modes_of_the_table(judged: dict[str, Judged]) -> None:
    possible = {name: item.modes for name, item in judged.items()}

    assert possible == {name: modes for name, (_, modes) in SHAPES.items()}


def test_what_we_call_unsupported_spark_refuses_too(judged: dict[str, Judged]) -> None:
    """Only unbounded state and second watermarks are refused although Spark would run them."""
    ours = (Fault.UNSUPPORTED, Fault.MODE)

    assert [
        (name, mode, finding.operator)
        for name, item in judged.items()
        for mode in item.spark_runs
        for finding in item.found[mode]
        if finding.fault in ours
    ] == []


TOPICS = """
ps.topic("orders", value=ps.json("id string, at timestamp, n int"), event_time="at")
ps.topic("payments", value=ps.json("id string, at timestamp, n int"), event_time="at")
ps.topic("clicks", value=ps.json("id string, at timestamp, n int"))
ps.topic("ids", value=ps.json("id string"))
ps.topic("counts", value=ps.json("id string, count bigint"))
"""


def test_unbounded_state_is_told_at_the_line_that_keeps_it(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = project(
        tmp_path,
        TOPICS
        + """
@ps.flow(into="ids")
def every_id(clicks: DataFrame) -> DataFrame:
    ids = clicks.select("id")
    return ids.distinct()  # PEN-324

@ps.view
def once(orders: DataFrame) -> DataFrame:
    return orders.dropDuplicates(["id"])  # PEN-324

@ps.flow(into="ids")
def through_a_view(once: DataFrame) -> DataFrame:
    return once.select("id")

@ps.flow(into="ids")
def paid(orders: DataFrame, payments: DataFrame) -> DataFrame:
    same = F.expr("o.id = p.id")
    return (
        orders.alias("o")
        .join(payments.alias("p"), same)  # PEN-324
        .select("o.id")
    )

@ps.flow(into="counts")
def counted(clicks: DataFrame) -> DataFrame:
    return clicks.groupBy("id").count()  # PEN-324

@ps.flow(into="counts", output_mode="update")
def running(clicks: DataFrame) -> DataFrame:
    return clicks.groupBy("id").count()
""",
    )

    problems = analyze(pipeline, spark)

    assert places(problems) == marked(tmp_path)
    assert problems[0].message == (
        "the state of flow `every_id` grows for ever: `distinct` or `dropDuplicates` remembers"
        " every row, as none of its columns has a watermark"
    )


def test_operators_and_modes_that_streams_lack_come_with_an_alternative(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = project(
        tmp_path,
        TOPICS
        + """
@ps.flow(into="counts", output_mode="update")
def visitors(orders: DataFrame) -> DataFrame:
    hours = orders.groupBy(F.window("at", "1 hour"), "id")
    return hours.agg(
        F.countDistinct("n").alias("count")  # PEN-326
    ).select("id", "count")

@ps.flow(into="ids")
def newest(orders: DataFrame) -> DataFrame:
    rank = F.row_number().over(Window.partitionBy("id").orderBy("at"))  # PEN-326
    return orders.filter(F.col("n") == 1).withColumn("rank", rank).select("id")

@ps.flow(into="ids")  # PEN-326
def numbered(orders: DataFrame) -> DataFrame:
    return orders.filter(F.monotonically_increasing_id() > 5).select("id")

@ps.flow(into="ids", output_mode="update")
def first_five(orders: DataFrame) -> DataFrame:
    return orders.select("id").limit(5)  # PEN-327
""",
    )

    problems = analyze(pipeline, spark)

    assert places(problems) == marked(tmp_path)
    assert problems[0].hint == (
        "use `F.approx_count_distinct(…)`; or `dropDuplicatesWithinWatermark` first"
    )
    assert problems[2].message == (
        "flow `numbered` cannot run as a stream: expression(s): monotonically_increasing_id() is"
        " not supported with streaming DataFrames/Datasets"
    )
    assert problems[3].hint == 'use `output_mode="append"`'


def test_a_stream_cannot_be_united_or_joined_with_itself(
    tmp_path: Path, spark: SparkSession
) -> None:
    """Spark refuses it when the query starts, because sources have names."""
    pipeline = project(
        tmp_path,
        TOPICS
        + """
@ps.view
def small(orders: DataFrame) -> DataFrame:
    return orders.filter("n < 1")

@ps.flow(into="ids")  # PEN-332
def united(orders: DataFrame) -> DataFrame:
    return orders.filter("n < 1").union(orders.filter("n > 9")).select("id")

@ps.flow(into="ids")  # PEN-332
def through_a_view(orders: DataFrame, small: DataFrame) -> DataFrame:
    return orders.union(small).select("id")

@ps.flow(into="ids")
def of_two_topics(orders: DataFrame, payments: DataFrame) -> DataFrame:
    return orders.select("id").union(payments.select("id"))
""",
    )

    assert places(analyze(pipeline, spark)) == marked(tmp_path)


def test_each_operator_that_prevents_real_time_is_named(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = project(
        tmp_path,
        TOPICS
        + """
ps.topic("limited", most_per_trigger=5, min_partitions=9)  # PEN-330, PEN-330
ps.topic("lines")
ps.rate("ticks")
ps.lookup("known", ps.csv_file("known.csv", "id string, owner string"))

@ps.flow(into="ids", trigger="real_time")
def right(orders: DataFrame, known: DataFrame) -> DataFrame:
    return orders.filter("n > 1").join(F.broadcast(known), "id").select("id")

@ps.flow(into="counts", trigger="real_time")
def aggregates(clicks: DataFrame) -> DataFrame:
    return clicks.groupBy("id").count()  # PEN-330

@ps.flow(into="ids", trigger="real_time")
def deduplicates(orders: DataFrame) -> DataFrame:
    return orders.dropDuplicatesWithinWatermark(["id"]).select("id")  # PEN-330

@ps.flow(into="ids", trigger="real_time")
def shuffles(orders: DataFrame) -> DataFrame:
    return orders.repartition(3).select("id")  # PEN-330

@ps.flow(into="ids", trigger="real_time")
def runs_python(orders: DataFrame) -> DataFrame:
    upper = F.udf(lambda text: text.upper(), "string")  # PEN-330
    return orders.select(upper("id").alias("id"))

@ps.flow(into="lines", trigger="real_time")  # PEN-330
def reads_no_topic(ticks: DataFrame) -> DataFrame:
    return ticks.select(F.col("value").cast("string").alias("value"))

@ps.flow(into="lines", trigger="real_time")
def reads_a_limited_topic(limited: DataFrame) -> DataFrame:
    return limited.select("value")
""",
    )

    problems = analyze(pipeline, spark)

    assert places(problems) == marked(tmp_path)
    assert problems[2].message == (
        "flow `aggregates` cannot run in real time: it aggregates, which needs state and a shuffle"
    )
