"""The Python of `docs/schemas-in-pipelines.md` is valid, and its table of types is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine.analysis import analyze
from penstock.engine.contracts import avro
from penstock.pipeline import Avro
from penstock.schemas import SchemaType, parse
from support.contracts import contracts_at
from support.declarations import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[4] / "docs" / "schemas-in-pipelines.md").read_text("utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
TABLE = PAGE.partition("| Avro | Spark |\n|---|---|\n")[2].partition("\n\n")[0]

FILES = {
    "customers-value.avsc": '{"type": "record", "name": "Customer", "fields": ['
    '{"name": "id", "type": "long"}, {"name": "email", "type": ["null", "string"]}]}',
    "customers-key.avsc": '"long"',
    "Payment.json": '{"type": "object", "properties": {"sum": {"type": "number"}}}',
    "Trip.proto": 'syntax = "proto3"; package shop; message Stop { int32 at = 1; } '
    "message Trip { string id = 1; repeated Stop stops = 2; }",
}
"""The schemas that the snippets speak of."""

UNDER_LOGICAL = {
    "uuid": "string",
    "date": "int",
    "time-millis": "int",
    **dict.fromkeys(
        (
            "time-micros",
            *(
                f"{kind}-{unit}"
                for kind in ("timestamp", "local-timestamp")
                for unit in ("millis", "micros")
            ),
        ),
        "long",
    ),
}
COMPLEX: dict[str, dict[str, object]] = {
    "enum": {"name": "Color", "symbols": ["RED"]},
    "fixed": {"name": "Four", "size": 4},
    "array": {"items": "int"},
    "map": {"values": "int"},
    "record": {"name": "Inner", "fields": [{"name": "a", "type": "int"}]},
}


def schema_for(name: str) -> object:
    """Return the Avro type that the table calls by this name."""
    if name.startswith("["):
        return json.loads(name)
    if name == "decimal":
        return {"type": "bytes", "logicalType": name, "precision": 10, "scale": 2}
    if name in UNDER_LOGICAL:
        return {"type": UNDER_LOGICAL[name], "logicalType": name}
    return {"type": name, **COMPLEX.get(name, {})}


def test_the_snippets_of_the_page_are_a_valid_project(
    tmp_path: Path, spark: SparkSession, registry_url: str
) -> None:
    (tmp_path / "flows.py").write_text("\n".join(SNIPPETS), encoding="utf-8")
    (tmp_path / "schemas").mkdir()
    for name, text in FILES.items():
        (tmp_path / "schemas" / name).write_text(text)

    contracts = contracts_at(spark, tmp_path, registry_url)
    problems = analyze(load(tmp_path), spark, contracts=contracts)

    contracts.close()
    assert [problem.message for problem in problems] == []


def test_the_types_of_the_page_are_those_of_spark(spark: SparkSession) -> None:
    rows = [re.findall(r"`([^`]+)`", line) for line in TABLE.splitlines()]
    told = {name: kind for *names, kind in rows for name in names}
    fields = [{"name": f"f{number}", "type": schema_for(name)} for number, name in enumerate(told)]
    record = json.dumps({"type": "record", "name": "All", "fields": fields})

    found = avro.columns(parse(SchemaType.AVRO, record), spark, Avro())

    assert len(told) > 20
    assert dict(zip(told, (field.dataType.simpleString() for field in found), strict=True)) == told
