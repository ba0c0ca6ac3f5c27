"""What a proposed schema does to flows: Spark analyzes them with and without it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import penstock as ps
from penstock.control.impact import Verdict
from penstock.control.proposals import Surroundings, impact_of, load_proposal
from penstock.engine.events import FlowStarted, SubjectRead
from penstock.engine.used_columns import used_columns
from penstock.names import DatasetName, Subject
from penstock.registry.client import RegistryUnavailableError
from support.projects import project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.control.impact import FlowImpact
    from penstock.registry.client import RegistryClient
    from support.flow_runs import FlowLab

FLOWS = """
ps.topic("customers", value=ps.avro(), key="id", compacted=True)
ps.topic("accounts", value=ps.json("id bigint"), key_format=ps.avro())
ps.topic("orders", value=ps.json("id bigint, customer bigint, cents int"))
ps.topic("visits", value=ps.avro("Visit"))
ps.topic("emails", value=ps.json("id bigint, email string"))
ps.topic("names", value=ps.json("name string"))
ps.topic("totals", value=ps.json("city string, number bigint"))
ps.topic("copies", value=ps.avro(), key="id")
ps.table("everything")
ps.table("ages")
ps.lookup("people", "customers")

@ps.view
def known(customers: DataFrame) -> DataFrame:
    return customers.withColumn("mark", F.upper("name")).drop("age")

@ps.flow(into="emails")
def mail(known: DataFrame) -> DataFrame:
    return known.where("city <> 'Rome'").select("id", "email")

@ps.flow(into="totals", output_mode="complete")
def count(customers: DataFrame) -> DataFrame:
    counted = customers.groupBy("city").agg(F.count("*").alias("number"), F.max("age").alias("x"))
    return counted.drop("x")

@ps.flow(into="everything")
def keep(customers: DataFrame) -> DataFrame:
    return customers

@ps.flow(into="ages")
def later(everything: DataFrame) -> DataFrame:
    return everything.select("age")

@ps.flow(into="emails")
def ordered(orders: DataFrame, people: DataFrame) -> DataFrame:
    joined = orders.drop("id").join(people, orders.customer == people.id, "left")
    return joined.select("id", "email")

@ps.flow(into="copies")
def copy(orders: DataFrame) -> DataFrame:
    return orders.selectExpr("id", "'a' as name", "'b' as city", "'c@d' as email", "1 as age")

@ps.flow(into="names")
def visited(visits: DataFrame) -> DataFrame:
    return visits.select("who.name")

@ps.flow(into="names")
def keyed(accounts: DataFrame) -> DataFrame:
    return accounts.selectExpr("string(_record.key.value) as name")

@ps.flow(into="names")
def unkeyed(accounts: DataFrame) -> DataFrame:
    return accounts.selectExpr("string(id) as name")

@ps.flow(into="names")
def elsewhere(orders: DataFrame) -> DataFrame:
    return orders.selectExpr("string(id) as name")
"""


def fields(**types: object) -> list[dict[str, object]]:
    return [{"name": name, "type": type_} for name, type_ in types.items()]


def record(name: str, /, **types: object) -> str:
    return json.dumps({"type": "record", "name": name, "fields": fields(**types)})


TODAY = record("Customer", id="long", name="string", city="string", email="string", age="int")
PROPOSED = record("Customer", id="long", name="string", city="string", age="long", phone="string")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "customers-value.avsc").write_text(TODAY)
    (schemas / "accounts-key.avsc").write_text('"long"')
    (schemas / "copies-value.avsc").write_text(TODAY.replace("Customer", "Copy"))
    (schemas / "Person.avsc").write_text(record("Person", name="string"))
    (schemas / "Visit.avsc").write_text(record("Visit", who="Person"))
    (tmp_path / "draft.avsc").write_text(PROPOSED)
    return tmp_path


def nobody() -> RegistryClient:
    raise RegistryUnavailableError(url="http://127.0.0.1:9", reason="this test has no registry")


def impacts(
    spark: SparkSession, folder: Path, subject: str, text: str = PROPOSED
) -> dict[str, FlowImpact]:
    (folder / "draft.avsc").write_text(text)
    pipeline = project(folder, FLOWS)
    proposal = load_proposal(folder / "draft.avsc", Subject(subject), folder=folder / "schemas")
    known = Surroundings(today=proposal.today)
    found = impact_of(proposal, pipeline, spark, known, nobody)
    return {item.flow: item for item in found.flows}


def told(item: FlowImpact) -> tuple[Verdict, str, list[str]]:
    return item.verdict, ",".join(item.uses), [str(change) for change in item.changes]


def test_each_flow_is_told_what_it_uses_and_what_becomes_of_it(
    spark: SparkSession, folder: Path
) -> None:
    found = impacts(spark, folder, "customers-value")

    gone = ["gone: email string", "age: int → bigint", "new: phone string"]
    assert {name: told(item) for name, item in found.items()} == {
        "mail": (Verdict.BREAKS, "id,city,email", []),
        "count": (Verdict.SAME, "city", []),
        "keep": (Verdict.CHANGED, "id,name,city,email,age", gone),
        "later": (Verdict.CHANGED, "", ["age: int → bigint"]),
        "ordered": (Verdict.BREAKS, "id,email", []),
    }
    [problem] = found["mail"].problems
    assert (problem.code, problem.origin and problem.origin.line) == (
        "PEN-320",
        line_of(folder, 'select("id", "email")'),
    )
    assert "email" in problem.message
    assert (found["mail"].read, found["mail"].written) == (("customers",), ())


SHAPES: dict[str, tuple[str, Callable[[DataFrame, DataFrame], DataFrame]]] = {
    "all": ("a,b,c,d,_record", lambda x, _: x.selectExpr("*", "_record.offset")),
    "all but where it came from": ("a,b,c,d", lambda x, _: x),
    "columns on the way": ("a", lambda x, _: x.withColumn("e", F.col("b") + 1).select("a")),
    "condition": ("a,b", lambda x, _: x.where("b > 1").select("a")),
    "aggregate": ("a,b", lambda x, _: x.groupBy("a").agg(F.sum("b"), F.max("c")).drop("max(c)")),
    "union": ("a", lambda x, y: x.select("a").union(y.select("b"))),
    "used twice": ("a,b,c,d,_record", lambda x, _: x.select("a").union(x.select("b"))),
    "join": ("a,b", lambda x, y: x.join(F.broadcast(y), "a").select(x.b, y.c)),
    "using": ("a,b,c,d", lambda x, y: x.join(y.select("a"), "a", "left").drop("_record")),
    "explode": ("a,d", lambda x, _: x.select("a", F.explode("d")).select("a")),
    "window": ("a,b", lambda x, _: x.select("a", F.row_number().over(Window.orderBy("b")))),
    "python": (
        "a,b,c,d,_record",
        lambda x, _: x.mapInArrow(lambda rows: rows, "a int").select("a"),
    ),
    "view": ("a,b,c,d,_record", lambda x, _: viewed(x, "select a from v")),
    "common table": ("a", lambda x, _: viewed(x.select("a"), "with w as (table v) table w")),
    "alias": ("a", lambda x, _: x.alias("l").select("l.a").distinct().orderBy("a").limit(3)),
    "duplicates": ("a,b", lambda x, _: x.dropDuplicates(["b"]).select("a")),
    "nothing": ("", lambda x, _: x.select(F.lit(1))),
}


def viewed(frame: DataFrame, query: str) -> DataFrame:
    frame.createOrReplaceTempView("v")
    return frame.sparkSession.sql(query)


def test_columns_are_used_that_the_result_depends_on(spark: SparkSession) -> None:
    columns = "a int, b int, c int, d array<int>, _record struct<offset: bigint>"
    one, other = spark.createDataFrame([], columns), spark.createDataFrame([], columns)
    inputs = {DatasetName("one"): one, DatasetName("other"): other}

    found = {
        name: ",".join(used_columns(make(one, other), inputs)[DatasetName("one")])
        for name, (_, make) in SHAPES.items()
    }

    assert found == {name: used for name, (used, _) in SHAPES.items()}


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "flows.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_a_flow_that_writes_the_subject_must_still_fit_it(
    spark: SparkSession, folder: Path
) -> None:
    found = impacts(spark, folder, "copies-value", PROPOSED.replace("Customer", "Copy"))

    assert list(found) == ["copy"]
    assert (found["copy"].verdict, found["copy"].written) == (Verdict.BREAKS, ("copies",))
    messages = sorted(problem.message for problem in found["copy"].problems)
    assert len(messages) == 2
    assert "`email`" in messages[0] + messages[1]
    assert "`phone`" in messages[0] + messages[1]


def test_schemas_that_refer_to_the_proposal_count_and_keys_do(
    spark: SparkSession, folder: Path
) -> None:
    renamed = impacts(spark, folder, "Person", record("Person", full_name="string"))
    as_text = impacts(spark, folder, "accounts-key", '"string"')

    assert {name: told(item) for name, item in renamed.items()} == {
        "visited": (Verdict.BREAKS, "who", [])
    }
    assert {name: told(item) for name, item in as_text.items()} == {
        "keyed": (Verdict.SAME, "value", []),
        "unkeyed": (Verdict.SAME, "", []),
    }


def test_a_starting_flow_tells_which_columns_of_a_subject_it_uses(
    lab: FlowLab, registry_url: str
) -> None:
    lab.registry_url = registry_url
    customers = lab.topic("customers", value=ps.avro())
    out = lab.topic("out", value=ps.json("id bigint, email string"))
    (lab.folder / "schemas").mkdir()
    subject = Subject(f"{customers.kafka_name}-value")
    (lab.folder / "schemas" / f"{subject}.avsc").write_text(TODAY)

    def mail(customers: DataFrame) -> DataFrame:
        return customers.where("age > 17").select("id", "email")

    lab.run(mail, customers, into=out)

    [started] = lab.told(FlowStarted)
    columns: dict[str, Any] = {"id": "bigint", "email": "string", "age": "int"}
    read = SubjectRead(topic=customers.kafka_name, subject=subject, is_key=False, columns=columns)
    assert started.reads == (read,)
