"""The example `json_to_avro`: what fits the schema goes on as Avro, the rest are dead letters."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from penstock.names import Subject
from penstock.registry.client import RegistryAddress, RegistryClient
from support.example_runs import EXAMPLES, ExampleRuns
from support.producing import Sent

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster
    from support.topic_contents import Stored

pytestmark = pytest.mark.timeout(300)  # queries start slowly on a busy machine

LINES = (EXAMPLES / "json_to_avro" / "payments.jsonl").read_text("utf-8").splitlines()


def decoded(records: list[Stored], schema: str) -> dict[str | None, Any]:
    """Return the payments by their id, read by somebody else's library."""
    parsed = fastavro.parse_schema(json.loads(schema))
    rows: list[Any] = [
        fastavro.schemaless_reader(io.BytesIO((record.value or b"")[5:]), parsed, None)
        for record in records
    ]
    return {row["id"]: row for row in rows}


def test_payments_become_avro_and_those_that_do_not_fit_dead_letters(
    spark: SparkSession, kafka: KafkaCluster, registry_url: str, tmp_path: Path
) -> None:
    with ExampleRuns.opened(
        "json_to_avro", spark, kafka, tmp_path, registry_url=registry_url
    ) as runs:
        dead_letters = runs.lab.dead_letters()
        runs.send("received", [Sent(value=line) for line in LINES])
        runs.run_once()

        strict, inferred = runs.records("payments"), runs.records("anything")
        letters = runs.lab.records(dead_letters)
        with RegistryClient(RegistryAddress(url=registry_url)) as registry:
            schemas = {
                name: registry.version(Subject(f"{runs.topic(name).kafka_name}-value"))
                for name in ("payments", "anything")
            }

    payments = decoded(strict, schemas["payments"].text)
    assert sorted(payments, key=str) == ["p-1", "p-2", "p-6"]
    assert payments["p-6"] == {
        "id": "p-6",
        "account": "ann",
        "amount": Decimal("0.99"),
        "currency": "USD",
        "paid_at": datetime(2026, 3, 2, 9, 0, 5, 250_000, tzinfo=UTC),
        "note": None,
    }
    assert payments["p-2"]["note"] == "tea"
    assert {record.key for record in strict} == {b"ann", b"bob"}
    loose = decoded(inferred, schemas["anything"].text)
    assert sorted(loose, key=str) == [None, "p-1", "p-2", "p-5", "p-6"]

    told = {(dict(item.headers)["penstock.flow"], item.value) for item in letters}
    reasons = sorted(dict(item.headers)["penstock.reason"] or b"" for item in letters)
    assert (b"convert", LINES[2].encode()) in told
    assert (b"convert_anything", LINES[2].encode()) in told
    assert reasons[:2] == [
        b"`/currency` is no symbol of its enum",
        b"`/id` is null, which its schema does not allow",
    ]
    assert len(letters) == 4
