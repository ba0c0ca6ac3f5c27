"""`penstock validate` with both steps: Spark analyzes the flows, without Kafka."""

from pathlib import Path

import pytest

from support.commands import Penstock
from support.declarations import write

WRONG = """
ps.topic("orders", value=ps.json("id string, amount double"))
ps.topic("large", value=ps.json("id string"))

@ps.flow(into="large")
def select_large(orders):
    return orders.where("amuont > 100").select("id")
"""


@pytest.fixture
def penstock(tmp_path: Path) -> Penstock:
    nobody = {"PENSTOCK_BOOTSTRAP": "127.0.0.1:1", "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path)}
    return Penstock(tmp_path, nobody)


def test_the_project_of_init_is_valid_for_spark(penstock: Penstock) -> None:
    penstock("init", "thermometers")
    done = penstock("validate", "thermometers", timeout_seconds=110)
    assert (done.status, done.stdout, done.stderr) == (
        0,
        "pipeline `thermometers` is valid\n"
        "  declarations: 1 rate source, 2 topics, 1 lookup, 2 flows\n"
        "  flows: analyzed by Spark: `measure`, `warn`\n",
        "starting Spark: done\n",
    )


def test_what_only_spark_can_find_is_told_at_the_users_line(penstock: Penstock) -> None:
    write(penstock.folder, {"flows.py": WRONG})
    done = penstock("validate", "--json", timeout_seconds=110)
    [problem] = done.json["error"]["problems"]
    assert (done.status, problem["origin"]) == (2, f"{penstock.folder.resolve()}/flows.py:8")
    assert "amuont" in problem["message"]
