"""The example `order_generations`: from the first order of v1 to the day that v1 is deleted."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from penstock.names import Subject
from penstock.registry.client import RegistryAddress, RegistryClient
from support.example_runs import EXAMPLES, ExampleRuns
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)  # flows are started several times

HERE = EXAMPLES / "order_generations"
PROGRESS = HERE / "progress.py"


class Shop:
    """Producers and consumers of orders, as commands, in either generation."""

    def __init__(self, runs: ExampleRuns, registry_url: str) -> None:
        self.runs = runs
        self.environment = {
            "PENSTOCK_BOOTSTRAP": runs.lab.kafka.bootstrap,
            "PENSTOCK_REGISTRY_URL": registry_url,
        }
        self.penstock = PenstockInProcess(runs.lab.folder, self.environment)
        self.topics = [str(runs.topic(name).kafka_name) for name in ("orders_v1", "orders_v2")]

    def ok(self, *arguments: str, stdin: str = "") -> str:
        done = self.penstock(*arguments, stdin=stdin)
        assert done.status == 0, done.stderr
        return done.stdout

    def consume(self, topic: str, group: str) -> list[Any]:
        lines = self.ok("consume", topic, "--group", group, "--value-format", "avro")
        return [json.loads(line)["id"] for line in lines.splitlines()]

    def progress(self) -> tuple[int, list[list[str]]]:
        """Run the script of the example; return its status and the words of its lines."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [sys.executable, str(PROGRESS), *self.topics],
            env={**os.environ, **self.environment, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return done.returncode, [line.split() for line in done.stdout.splitlines()[1:]]


@pytest.mark.long
def test_orders_move_from_one_generation_to_the_next(
    spark: SparkSession, kafka: KafkaCluster, registry_url: str, tmp_path: Path
) -> None:
    with ExampleRuns.opened(
        "order_generations", spark, kafka, tmp_path, registry_url=registry_url
    ) as runs:
        dead_letters = runs.lab.dead_letters()
        shop = Shop(runs, registry_url)
        old, new = shop.topics
        avro = ("--value-format", "avro")
        shop.ok("schemas", "push")
        shop.ok("produce", old, str(HERE / "orders-v1.jsonl"), *avro)
        assert sorted(shop.consume(old, f"{old}-billing")) == [1, 2, 3]
        shop.ok("produce", new, str(HERE / "orders-v2.jsonl"), *avro)
        runs.run_once()

        orders = {(row["id"], row["return_code"]): row for row in values(runs, registry_url)}
        assert sorted(orders, key=str) == [(1, None), (2, 7), (2, None), (4, None)]
        assert orders[1, None] == {
            "id": 1,
            "customer": "ann",
            "total": Decimal("19.90"),
            "currency": "EUR",
            "placed_at": datetime(2026, 3, 2, 9, tzinfo=UTC),
            "return_code": None,
        }
        (letter,) = runs.lab.records(dead_letters)
        reason = dict(letter.headers)["penstock.reason"]
        assert reason == b"`/placed_at` is null, which its schema does not allow"
        writers = {row["written_to"]: row["orders"] for row in runs.rows("writers")}
        assert writers == {"orders-v1": 2, "orders-v2": 2}

        assert sorted(shop.consume(new, f"{new}-billing")) == [1, 2, 2, 4]
        assert shop.progress() == (
            1,
            [
                [f"{old}-billing", "0", "-"],
                [f"{new}-billing", "-", "0"],
                ["1", "of", "2", "groups", "read", old],
            ],
        )

        late = '{"id": 5, "customer": "eve", "amount": 1.0, "placed": "2026-03-02T11:00:00Z"}\n'
        shop.ok("produce", old, *avro, stdin=late)
        shop.ok("schemas", "delete", f"{old}-value", "--yes")
        refused = shop.penstock("produce", old, *avro, stdin=late)
        assert "PEN-754" in refused.stderr
        runs.run_once("translate")
        assert 5 in {row["id"] for row in values(runs, registry_url)}

        shop.ok("groups", "delete", f"{old}-billing", "--yes")
        assert shop.progress()[0] == 0
        shop.ok("topics", "delete", old, "--yes")
        shop.ok("schemas", "delete", f"{old}-value", "--permanent", "--yes")
        left = shop.ok("schemas", "list", f"{runs.lab.name}*", "--deleted", "--json")
        assert [item["subject"] for item in json.loads(left)] == [f"{new}-value"]


def values(runs: ExampleRuns, registry_url: str) -> list[Any]:
    """Return the orders of the second generation, read by somebody else's library."""
    with RegistryClient(RegistryAddress(url=registry_url)) as registry:
        subject = Subject(f"{runs.topic('orders_v2').kafka_name}-value")
        schema = fastavro.parse_schema(json.loads(registry.version(subject).text))
    return [
        fastavro.schemaless_reader(io.BytesIO((record.value or b"")[5:]), schema, None)
        for record in runs.records("orders_v2")
    ]
