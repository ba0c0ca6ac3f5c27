"""The user's functions: where their faults are told, and what reaches Spark's Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PythonException

from penstock.engine import enrich
from penstock.engine.enriching import FunctionLookup
from penstock.engine.flow_errors import LookupColumnsError
from penstock.engine.reading import apply_flow
from penstock.errors import PenstockError
from penstock.names import DatasetName
from penstock.pipeline import Lookup, LookupFunction
from support.projects import project

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FAULTS = """
ps.topic("lines")
ps.topic("out")

@ps.flow(into="out")
def unknown_column(lines):
    named = lines.select("value")
    return named.where(
        F.col("valeu") == "x"
    )

@ps.flow(into="out")
def python_fault(lines):
    return divide(lines)

@ps.flow(into="out")
def nothing(lines):
    lines.where("value = 'x'")

@ps.flow(into="out")
def join(lines):
    return ps.enrich(lines, lines.selectExpr("value AS other"))

def divide(lines):
    return lines.limit(1 // 0)
"""


def fault_of(folder: Path, flow: str, frame: DataFrame) -> tuple[str, str, str]:
    """Return the code, the message and the line's text of what a flow is accused of."""
    pipeline = project(folder, FAULTS)
    with pytest.raises(PenstockError) as caught:
        apply_flow(pipeline.flow(flow), {DatasetName("lines"): frame})
    assert caught.value.origin is not None
    line = caught.value.origin.line
    assert line is not None
    text = caught.value.origin.file.read_text(encoding="utf-8").splitlines()[line - 1]
    return caught.value.code, caught.value.message, text.strip()


def test_faults_of_a_flow_are_told_at_the_users_line(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("x",)], "value string")
    code, message, line = fault_of(tmp_path, "unknown_column", frame)
    assert (code, line) == ("PEN-310", "return named.where(")
    assert message == (
        "flow `unknown_column` cannot be built: A column, variable, or function parameter with name"
        " `valeu` cannot be resolved. Did you mean one of the following? [`value`]"
    )
    assert fault_of(tmp_path, "python_fault", frame) == (
        "PEN-310",
        "flow `python_fault` cannot be built: ZeroDivisionError: integer division or modulo by"
        " zero",
        "return lines.limit(1 // 0)",
    )
    code, message, _ = fault_of(tmp_path, "nothing", frame)
    assert (code, message) == ("PEN-315", "flow `nothing` returns nothing, expected a DataFrame")
    code, _, line = fault_of(tmp_path, "join", frame)
    assert (code, line) == (
        "PEN-316",
        'return ps.enrich(lines, lines.selectExpr("value AS other"))',
    )


def test_functions_of_other_modules_of_the_project_run_in_workers(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Workers cannot import the project: it is on no path of theirs."""
    (tmp_path / "shouting.py").write_text(
        "MARK = '!'\n\ndef shout(text):\n    return text.upper() + MARK\n", encoding="utf-8"
    )
    pipeline = project(
        tmp_path,
        """
from shouting import shout

ps.topic("lines")
ps.topic("out")

@F.udf("string")
def louder(text):
    return shout(text)

@ps.flow(into="out")
def loud(lines):
    return lines.select(louder("value").alias("value"))
""",
    )
    frame = spark.createDataFrame([("x",)], "value string")
    result = apply_flow(pipeline.flow("loud"), {DatasetName("lines"): frame})
    assert [row["value"] for row in result.collect()] == ["X!"]


def lookup_of(folder: Path, body: str) -> FunctionLookup:
    pipeline = project(
        folder,
        f"""
ps.topic("lines")
ps.topic("out")

@ps.lookup("countries", key="ip", returns="country string, seen timestamp, ports array<int>")
def countries(keys):
    {body}

@ps.flow(into="out")
def copy(lines, countries):
    return lines
""",
    )
    lookup = pipeline.dataset(DatasetName("countries"))
    assert isinstance(lookup, Lookup)
    assert isinstance(lookup.source, LookupFunction)
    return FunctionLookup(name=lookup.name, source=lookup.source)


def test_a_function_gets_each_key_once_and_adds_typed_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked = tmp_path / "asked.txt"
    body = (
        "from datetime import datetime, timezone\n"
        f"    open({str(asked)!r}, 'a').write(','.join(keys) + chr(10))\n"
        "    at = datetime(2030, 1, 1, tzinfo=timezone.utc)\n"
        "    return {'a': {'country': 'AT', 'seen': at, 'ports': [1]}, 'b': {'country': None}}"
    )
    keys = ["a", "b", None, "a", "c", "a"]
    frame = spark.createDataFrame([(key, n) for n, key in enumerate(keys)], "ip string, n int")
    enriched = enrich(frame.coalesce(1), lookup_of(tmp_path, body)).where("n >= 0")

    found = enriched.selectExpr("n", "ip", "country", "unix_seconds(seen) AS s", "ports").collect()

    known = ("AT", 1893456000, [1])
    assert [tuple(row) for row in found] == [
        (0, "a", *known),
        (1, "b", None, None, None),
        (2, None, None, None, None),
        (3, "a", *known),
        (4, "c", None, None, None),
        (5, "a", *known),
    ]
    assert asked.read_text(encoding="utf-8") == "a,b,c\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise OSError('no route')", "OSError('no route')"),
        ("return {'a': {'town': 'Graz'}}", "the column `town`, which it does not declare"),
        ("return {'a': {'ports': 'x'}}", "ArrowInvalid"),
        ("return None", "AttributeError"),
    ],
    ids=["it raises", "unknown column", "wrong type", "no mapping"],
)
def test_a_function_that_fails_is_named(
    spark: SparkSession, tmp_path: Path, body: str, said: str
) -> None:
    frame = spark.createDataFrame([("a",)], "ip string")
    with pytest.raises(PythonException) as caught:
        enrich(frame, lookup_of(tmp_path, body)).collect()
    message = str(caught.value)
    assert "lookup `countries`: its function failed" in message
    assert said in message


def test_enriching_with_a_table_keeps_every_row(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1), ("z", 2)], "ip string, n int").coalesce(1)
    table = spark.createDataFrame([("a", "AT"), ("b", "DE")], "ip string, country string")
    assert [tuple(row) for row in enrich(frame, table).collect()] == [
        ("a", 1, "AT"),
        ("z", 2, None),
    ]
    renamed = table.withColumnRenamed("country", "n")
    assert enrich(frame, renamed, on="ip").columns == ["ip", "n", "n"]


def test_enriching_needs_columns_that_both_have(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", "x")], "host string, country string")
    table = spark.createDataFrame([("a",)], "ip string")
    function = lookup_of(tmp_path, "return {}")
    for lookup, on in ((table, None), (table, "ip"), (function, None), (function, "host")):
        with pytest.raises(LookupColumnsError):
            enrich(frame, lookup, on=on)
