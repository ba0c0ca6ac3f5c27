"""The second step of validation finds what only Spark can find, at the user's line."""

from pathlib import Path
from time import process_time

import psutil
import pytest
from pyspark.sql import SparkSession

from penstock.engine import SparkDriver
from penstock.engine.analysis import analyze
from support.projects import marked, places, project

ORDERS = """
ps.topic("orders", value=ps.json("id string, host string, at timestamp, n int"),
         event_time="at", allowed_lateness="1 minute")
ps.topic("payments", value=ps.json("id string, at timestamp, cents bigint"),
         event_time="at", allowed_lateness="1 minute")
ps.topic("clicks", value=ps.json("host string, at timestamp, n int"))
ps.topic("lines")
ps.topic("counts", value=ps.json("host string, hits bigint"), key="host")
ps.topic("numbers", value=ps.json("n int"))
ps.table("anything")
ps.lookup("names", ps.csv_file("names.csv", "host string, owner string"))
"""


def test_a_pipeline_without_problems_has_none(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.view
def good_orders(orders: DataFrame) -> DataFrame:
    return orders.filter("n > 0")

@ps.flow(into="counts", output_mode="update")
def count(good_orders: DataFrame, names: DataFrame) -> DataFrame:
    known = ps.enrich(good_orders, names, on="host")
    return known.groupBy("host").agg(F.count("*").alias("hits"))

@ps.flow(into="anything")
def keep(orders: DataFrame) -> DataFrame:
    return orders

@ps.flow(into="numbers")
def again(anything: DataFrame) -> DataFrame:
    return anything.select("n")
""",
    )

    assert analyze(pipeline, spark) == []


def test_all_problems_of_all_flows_come_together_at_the_users_lines(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into="numbers")
def misspelt(clicks: DataFrame) -> DataFrame:
    return (
        clicks
        .select(F.col("nn").alias("n"))  # PEN-320
    )

@ps.flow(into="numbers")
def wrong_type(clicks: DataFrame) -> DataFrame:
    late = clicks.filter(F.col("at") > 5)  # PEN-320
    return late.select("n")

@ps.flow(into="numbers")
def raises(clicks: DataFrame) -> DataFrame:
    limit = {}["limit"]  # PEN-310
    return clicks.filter(F.col("n") < limit).select("n")

@ps.view
def broken(clicks: DataFrame) -> DataFrame:
    return clicks.select("hosst", "n")  # PEN-320

@ps.flow(into="numbers")
def first_of_broken(broken: DataFrame) -> DataFrame:
    return broken.select("n")

@ps.flow(into="numbers")
def second_of_broken(broken: DataFrame) -> DataFrame:
    return broken.select("n")

@ps.flow(into="numbers")  # PEN-315
def forgets(clicks: DataFrame) -> DataFrame:
    clicks.select("n")
""",
    )

    problems = analyze(pipeline, spark)

    assert places(problems) == marked(tmp_path)
    assert {item.origin.file for item in problems if item.origin} == {tmp_path / "flows.py"}
    assert [item.message for item in problems if item.code == "PEN-320"] == [
        "flow `misspelt`: there is no column `nn`",
        'flow `wrong_type`: cannot resolve "(at > 5)" due to data type mismatch: the left and'
        ' right operands of the binary operator have incompatible types ("TIMESTAMP" and "INT")',
        "view `broken`: there is no column `hosst`",
    ]
    assert problems[0].hint == "did you mean `n`?"


@pytest.mark.filterwarnings("ignore:It is preferred to specify type hints:UserWarning")
def test_nobody_is_contacted(tmp_path: Path, spark: SparkSession) -> None:
    """Neither folder nor table nor lookup nor broker exists."""
    pipeline = project(
        tmp_path,
        """
ps.topic("changes", value=ps.json("id int, name string"), key="id", compacted=True)
ps.files("landed", "/nowhere/landed", value=ps.csv("id int, name string"))
ps.table("kept", schema="id int, name string")
ps.socket("typed", port=9)
ps.rate("ticks")
ps.lookup("latest", "changes")
ps.lookup("history", "kept")

@ps.lookup("countries", key="id", returns="country string")
def countries(keys):
    raise OSError

@ps.flow(into="kept")
def land(landed: DataFrame, latest: DataFrame) -> DataFrame:
    return landed.join(latest.select("id"), "id")

ps.topic("published", value=ps.json("id int, name string"))

@ps.flow(into="published")
def publish(kept: DataFrame, history: DataFrame) -> DataFrame:
    return kept.join(history, ["id", "name"], "left_semi")

ps.topic("places", value=ps.json("id int, country string"))

@ps.flow(into="places", delivery="at_least_once")
def place(landed: DataFrame, countries) -> DataFrame:
    return ps.enrich(landed, countries).select("id", "country")

ps.topic("lines")

@ps.flow(into="lines")
def type_(typed: DataFrame, ticks: DataFrame) -> DataFrame:
    return typed.unionByName(ticks.select(F.col("timestamp").cast("string").alias("value")))
""",
    )

    assert analyze(pipeline, spark) == []


def test_a_table_without_a_schema_has_the_columns_of_the_flow_that_writes_it(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into="numbers")
def reads_before_it_is_written(anything: DataFrame) -> DataFrame:
    return anything.select("m")  # PEN-320

@ps.flow(into="anything")
def writes(orders: DataFrame) -> DataFrame:
    return orders.select("n", "_record")
""",
    )

    problems = analyze(pipeline, spark)
    assert places(problems) == marked(tmp_path)
    assert problems[0].hint == "there are: `n`"
    only = analyze(pipeline, spark, flows=[pipeline.flow("reads_before_it_is_written")])
    assert places(only) == marked(tmp_path)


def test_flows_behind_a_wrong_flow_are_not_blamed(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into="anything")
def writes(orders: DataFrame) -> DataFrame:
    return orders.select("nothing")  # PEN-320

@ps.flow(into="numbers")
def reads(anything: DataFrame) -> DataFrame:
    return anything.select("n")

ps.table("elsewhere")  # PEN-323

@ps.flow(into="numbers")
def reads_unknown(elsewhere: DataFrame) -> DataFrame:
    return elsewhere.select("n")
""",
    )

    assert places(analyze(pipeline, spark)) == marked(tmp_path)


def test_types_that_spark_does_not_have_are_told_at_the_declaration(
    tmp_path: Path, spark: SparkSession
) -> None:
    """Also those of datasets that no flow uses; a flow that uses one is not blamed as well."""
    pipeline = project(
        tmp_path,
        """
ps.topic("numbers", value=ps.json("n intt"))  # PEN-322
ps.topic("keyed", value=ps.text(), key="id", key_format=ps.json("id uuid"))  # PEN-322
ps.table("kept", schema="n decimal(60,2)")  # PEN-322
ps.files("landed", "landed", value=ps.csv("n int, at datetime"))  # PEN-322
ps.lookup("names", ps.csv_file("names.csv", "n text"))  # PEN-322
ps.topic("good", value=ps.json("n int, more struct<a:array<string>>"))

@ps.flow(into="good")
def copy(numbers: DataFrame) -> DataFrame:
    return numbers.select("m")

@ps.flow(into="kept")
def keep(good: DataFrame) -> DataFrame:
    return good.select("n")
""",
    )

    problems = analyze(pipeline, spark)

    assert places(problems) == marked(tmp_path)
    assert problems[0].message == 'topic `numbers`: `value`: unsupported data type "INTT"'


def test_what_a_flow_returns_is_a_stream(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
ps.topic("owners", value=ps.json("host string, owner string"))

@ps.flow(into="owners")  # PEN-321
def only_the_lookup(clicks: DataFrame, names: DataFrame) -> DataFrame:
    return names

@ps.flow(into="owners")
def joined(clicks: DataFrame, names: DataFrame) -> DataFrame:
    return clicks.join(names, "host").select("host", "owner")
""",
    )

    assert places(analyze(pipeline, spark)) == marked(tmp_path)


def test_columns_are_those_of_the_target(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
ps.table("typed", schema="host string, n int")
ps.table("latest", key="host", partition_by="day")  # PEN-109

@ps.flow(into="numbers")  # PEN-311, PEN-312
def missing_and_extra(clicks: DataFrame) -> DataFrame:
    return clicks.select("host")

@ps.flow(into="typed")  # PEN-313
def other_type(clicks: DataFrame) -> DataFrame:
    return clicks.select("host", F.col("n").cast("string").alias("n"))

@ps.flow(into="typed")
def narrower_type(clicks: DataFrame) -> DataFrame:
    return clicks.select("host", F.col("n").cast("smallint").alias("n"))

@ps.flow(into="latest")  # PEN-314
def no_key(clicks: DataFrame) -> DataFrame:
    return clicks.select("n")
""",
    )

    assert sorted(places(analyze(pipeline, spark))) == sorted(marked(tmp_path))


def test_routed_flows_say_where_each_row_goes(tmp_path: Path, spark: SparkSession) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into={"few": "numbers", "many": "counts"})
def right(clicks: DataFrame) -> DataFrame:
    counted = clicks.select("host", "n", F.col("n").cast("bigint").alias("hits"))
    return counted.withColumn("_route", F.when(F.col("n") < 9, "few").otherwise("many"))

@ps.flow(into={"few": "numbers", "many": "counts"})  # PEN-328
def no_route(clicks: DataFrame) -> DataFrame:
    return clicks.select("host", "n", F.col("n").cast("bigint").alias("hits"))

@ps.flow(into={"few": "numbers"})  # PEN-328, PEN-328
def wrong_route_and_a_column_for_nobody(clicks: DataFrame) -> DataFrame:
    return clicks.select("host", "n", F.lit(1).alias("_route"))

@ps.flow(into="numbers")  # PEN-328
def a_route_to_nowhere(clicks: DataFrame) -> DataFrame:
    return clicks.select("n", F.lit("few").alias("_route"))
""",
    )

    assert places(analyze(pipeline, spark)) == marked(tmp_path)


def test_a_topic_with_event_time_gets_no_second_watermark(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into="numbers")
def second(orders: DataFrame) -> DataFrame:
    return (
        orders
        .withWatermark("at", "5 minutes")  # PEN-325
        .select("n")
    )

@ps.flow(into="numbers")
def first(clicks: DataFrame) -> DataFrame:
    return clicks.withWatermark("at", "5 minutes").select("n")

@ps.flow(into="numbers")
def of_two_topics(orders: DataFrame, clicks: DataFrame) -> DataFrame:
    return orders.select("at", "n").union(
        clicks.withWatermark("at", "5 minutes").select("at", "n")
    ).select("n")
""",
    )

    problems = analyze(pipeline, spark)

    assert places(problems) == marked(tmp_path)
    assert problems[0].hint == (
        "leave out `withWatermark`: topic `orders` declares it as its `event_time`"
    )


def test_settings_of_a_flow_are_those_of_a_query(tmp_path: Path, spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into="numbers", conf={"spark.driver.memory": "9g"})  # PEN-329
def of_the_driver(clicks: DataFrame) -> DataFrame:
    return clicks.select("n")

@ps.flow(into="numbers", conf={"spark.sql.streaming.offsetLog.formatVersion": "1"})  # PEN-329
def of_penstock(clicks: DataFrame) -> DataFrame:
    return clicks.select("n")

@ps.flow(into="numbers", conf={"spark.sql.shuffle.partitions": "many"})  # PEN-329
def no_number(clicks: DataFrame) -> DataFrame:
    return clicks.select("n")

@ps.flow(into="numbers", conf={"spark.sql.shuffle.partitions": "7"})
def right(clicks: DataFrame) -> DataFrame:
    return clicks.select("n")
""",
    )

    assert places(analyze(pipeline, spark)) == marked(tmp_path)
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


def test_a_small_pipeline_is_analyzed_in_two_seconds(
    tmp_path: Path, spark: SparkSession, spark_driver: SparkDriver
) -> None:
    """Seconds of processor time, Java's and ours: others may use the machine too."""
    pipeline = project(
        tmp_path,
        ORDERS
        + """
@ps.flow(into="counts", output_mode="update")
def count(orders: DataFrame, names: DataFrame) -> DataFrame:
    known = ps.enrich(orders, names)
    windows = known.groupBy(F.window("at", "10 minutes"), "host")
    return windows.agg(F.count("*").alias("hits")).select("host", "hits")

@ps.flow(into="numbers")
def copy(clicks: DataFrame) -> DataFrame:
    return clicks.select("n")

@ps.flow(into="anything")
def keep(lines: DataFrame) -> DataFrame:
    return lines
""",
    )
    analyze(pipeline, spark)  # the first time Java loads its classes
    spent = []
    for _ in range(3):  # what others have begun in this JVM takes time as well
        start = _processor_seconds(spark_driver)
        assert analyze(pipeline, spark) == []
        spent.append(_processor_seconds(spark_driver) - start)

    assert min(spent) < 2


def _processor_seconds(driver: SparkDriver) -> float:
    times = psutil.Process(driver.pid).cpu_times()
    return process_time() + times.user + times.system
