"""A lookup that changes while the pipeline runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.names import TopicName
from support.commands import Penstock
from support.producing import Sent, send
from support.projects_to_run import LONG, Project
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster

FLOWS = """
    import penstock as ps
    from pyspark.sql import DataFrame

    ps.topic("orders", kafka_name="{prefix}-orders", partitions=1, value=ps.json("id bigint"))
    ps.topic("wanted", kafka_name="{prefix}-wanted", partitions=1, value=ps.json("id bigint"))
    ps.lookup("ids", ps.csv_file("ids.csv", "id bigint"), reload_every="1 second")


    @ps.flow(into="wanted")
    def find(orders: DataFrame, ids: DataFrame) -> DataFrame:
        return orders.join(ids, "id", "left_semi").select("id")
"""


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_new_version_of_a_lookup_is_used_from_the_next_batch_on(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
    }
    project = Project(tmp_path, kafka.bootstrap, Penstock(tmp_path, environment))
    project.declare(FLOWS)
    (tmp_path / "ids.csv").write_text("1\n2\n")
    orders = TopicName(f"{project.prefix}-orders")

    with project.running("--json") as run:
        run.await_event("flow_started", flow="find")
        send(kafka.connection, orders, [Sent(value=f'{{"id": {n}}}') for n in range(5)])
        eventually(lambda: project.ids("wanted") == [1, 2], within_seconds=LONG)
        (tmp_path / "new.csv").write_text("2\n3\n")
        (tmp_path / "new.csv").rename(tmp_path / "ids.csv")
        run.await_event("lookup_reloaded", flow="find", lookup="ids")
        send(kafka.connection, orders, [Sent(value=f'{{"id": {n}}}') for n in range(5)])
        eventually(lambda: project.ids("wanted") == [1, 2, 2, 3], within_seconds=LONG)
        status = run.interrupt()
        reloads = [event for event in run.events if event["event"] == "lookup_reloaded"]

    assert status == 0, run.stderr
    assert len(reloads) == 1
    assert reloads[0]["old_version"] != reloads[0]["new_version"]
