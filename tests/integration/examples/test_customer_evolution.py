"""The example `customer_evolution`: either program reads what the other's writers send."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.names import TopicName
from support.example_runs import EXAMPLES, ExampleRuns
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(300)  # queries start slowly on a busy machine

HERE = EXAMPLES / "customer_evolution"


def test_old_and_new_programs_read_each_other_and_a_third_version_is_refused(
    spark: SparkSession, kafka: KafkaCluster, registry_url: str, tmp_path: Path
) -> None:
    prefix = f"evolution_{uuid4().hex[:8]}"
    topic = kafka.create_topic(TopicName(f"{prefix}-customerContacts"))
    penstock = PenstockInProcess(
        HERE, {"PENSTOCK_BOOTSTRAP": kafka.bootstrap, "PENSTOCK_REGISTRY_URL": registry_url}
    )

    def write(side: str) -> None:
        schema = f"{side}/schemas/customerContacts-value.avsc"
        options = ("--value-format", "avro", "--value-schema", schema)
        sent = penstock("produce", topic, f"{side}/customers.jsonl", *options)
        assert sent.status == 0, sent.stderr

    level = penstock("schemas", "config", f"{topic}-value", "--set", "FULL")
    assert level.status == 0, level.stderr
    for side in ("old", "new", "old"):
        write(side)

    rows = {}
    for side, target in (("old", "faxes"), ("new", "emails")):
        with ExampleRuns.opened(
            f"customer_evolution/{side}",
            spark,
            kafka,
            tmp_path / side,
            registry_url=registry_url,
            prefix=prefix,
        ) as runs:
            runs.run_once()
            rows[side] = [list(row.values()) for row in runs.rows(target)]

    first, second, third = "Precision Products", "Biomedical Materials", "Laboratory Equipment"
    faxed = [[1, first, "+33 1 5550100"], [2, second, None]]
    assert rows["old"] == [*faxed, [3, third, None], *faxed]
    without = [[1, first, None], [2, second, None]]
    assert rows["new"] == [*without, [3, third, "office@lab.example"], *without]

    refused = penstock("schemas", "register", f"{topic}-value", "Customer-v3.avsc")
    assert refused.status == 1
    assert "errorType:'TYPE_MISMATCH'" in refused.stderr
    assert "`string` cannot read data of type `null`" in refused.stderr
    assert penstock("schemas", "show", f"{topic}-value", "3").status == 1
