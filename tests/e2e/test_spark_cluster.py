"""Pipelines on a real standalone cluster: a master and two workers beside a real Kafka."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.deployment.submitting import archive_conf
from penstock.local.processes import find_processes
from support.crashes import FLOWS, Numbers, copies, finish, last_sums
from support.projects_to_run import LONG, Run
from support.spark_platform import RUN_SECONDS, SparkPlatform, spark_platform
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(600)  # executors start in seconds, or minutes on a busy machine

PYTHON = """
    import penstock as ps
    import prices
    from pyspark.sql import DataFrame, functions as F

    ps.topic("orders", kafka_name="{prefix}-orders", partitions=2, value=ps.json("id bigint"))
    ps.topic(
        "priced",
        kafka_name="{prefix}-priced",
        partitions=2,
        value=ps.json("id bigint, price bigint, unit string"),
    )


    @ps.lookup("units", key="id", returns="unit string")
    def units(ids: list[int]) -> dict[int, dict[str, str]]:
        return {{number: {{"unit": f"box {{number % 3}}"}} for number in ids}}


    @ps.flow(into="priced")
    def put_price(orders: DataFrame, units: DataFrame) -> DataFrame:
        priced = orders.withColumn("price", F.udf(prices.price, "bigint")("id"))
        return ps.enrich(priced, units, on="id")
"""
PRICES = """
def price(number: int) -> int:
    import discounts  # only the archive has it

    return 10 * number - discounts.DISCOUNT
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkPlatform]:
    """One cluster for the tests of this module."""
    with spark_platform(tmp_path_factory.mktemp("platform")) as platform:
        yield platform


@pytest.mark.long
def test_the_cluster_is_shown_and_reached_from_this_machine_only(platform: SparkPlatform) -> None:
    nodes = platform.platform.status().spark
    shown = platform.penstock("platform", "status")

    assert [node.name for node in nodes] == ["spark-master", "spark-worker-1", "spark-worker-2"]
    assert shown.status == 0, "everything runs"
    assert all(node.ui in shown.stdout for node in nodes)
    assert platform.cluster()["aliveworkers"] == 2
    addresses = {
        connection.laddr.ip.removeprefix("::ffff:")
        for node in nodes
        for connection in psutil.Process(node.pid).net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


@pytest.mark.long
def test_a_pipeline_with_python_functions_runs_on_its_executors(
    platform: SparkPlatform, tmp_path: Path
) -> None:
    """The project's module, Penstock's own, the jars and an archive all reach the executors."""
    archive = tmp_path / "discounts.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("packages/discounts.py", "DISCOUNT = 3\n")
    project = platform.project(tmp_path / "project", PYTHON, archive_conf(archive))
    (project.folder / "prices.py").write_text(PRICES)
    platform.penstock("topics", "create", f"{project.prefix}-orders", "--partitions", "2")
    platform.order(project, range(40))

    done = project.penstock("run", "--once", timeout_seconds=RUN_SECONDS)

    assert done.status == 0, done.stderr
    found = {item["id"]: (item["price"], item["unit"]) for item in project.values("priced")}
    assert found == {number: (10 * number - 3, f"box {number % 3}") for number in range(40)}

    def completed() -> list[str]:
        return [app["name"] for app in platform.cluster().get("completedapps", [])]

    eventually(lambda: project.prefix in completed(), within_seconds=60)


@pytest.mark.long
def test_killed_processes_come_back_and_the_master_forgets_nothing(
    platform: SparkPlatform,
) -> None:
    restarts = platform.node("spark-worker-1").restarts
    master = platform.kill("spark-master")
    platform.await_restart("spark-master", killed=master)
    platform.await_workers(2)
    assert platform.node("spark-master").last_exit == "killed by SIGKILL"
    assert platform.node("spark-worker-1").restarts == restarts, "it found the master again"

    worker = platform.kill("spark-worker-1")
    platform.await_restart("spark-worker-1", killed=worker)
    platform.await_workers(2)


@pytest.mark.long
def test_the_number_of_workers_can_change_while_kafka_runs(platform: SparkPlatform) -> None:
    broker = platform.platform.status().brokers[0].pid

    one = platform.penstock("up", "--spark-workers", "1", "--json", timeout_seconds=LONG)
    assert one.status == 0, one.stderr
    eventually(lambda: len(platform.platform.status().spark) == 2, within_seconds=60)
    assert platform.penstock("platform", "logs", "spark-worker-1", "-n", "1").status == 0
    assert platform.penstock("platform", "logs", "spark-worker-2").status == 2
    none = platform.penstock("up", "--spark-workers", "0", "--json")

    assert none.status == 0, none.stderr
    root = platform.platform.folder.root
    # The broker, the registry, the console and the supervisor are left.
    eventually(lambda: len(find_processes(root)) == 4, within_seconds=60)
    eventually(lambda: platform.platform.status().spark == (), within_seconds=60)
    assert platform.platform.status().brokers[0].pid == broker


def at_work(run: Run) -> None:
    """Wait until both flows have finished some batches from now on."""
    run.await_batches(3, "copy", "add_up", within_seconds=RUN_SECONDS)


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_nothing_is_lost_when_worker_driver_and_master_are_killed_under_load(
    tmp_path: Path,
) -> None:
    """At-least-once output has every input, and windowed sums equal those of the sender."""
    with spark_platform(tmp_path) as platform:
        project = platform.project(tmp_path / "project", FLOWS, {})
        topic = f"{project.prefix}-numbers"
        platform.penstock("topics", "create", topic, "--partitions", "3")
        with Numbers(platform.connection, topic, rate=50) as numbers:
            with project.running("--json") as run:
                at_work(run)
                worker = platform.kill("spark-worker-1")
                platform.await_restart("spark-worker-1", killed=worker)
                at_work(run)
                run.process.kill()
            with project.running("--json") as run:
                at_work(run)
                master = platform.kill("spark-master")
                at_work(run)  # without a master executors go on
                platform.await_restart("spark-master", killed=master)
                platform.await_workers(2)
                at_work(run)
                assert run.interrupt() == 0, run.stderr
        finish(project)

        sent, found = numbers.sent, copies(project)
        assert set(found) == sent.ids
        assert last_sums(project) == sent.sums
        assert platform.node("spark-worker-1").restarts == 1
        assert platform.node("spark-master").restarts == 1
