"""Declarative pipelines under Spark's own runner and under Penstock: the same tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pyspark.errors import AnalysisException
from pyspark.pipelines.init_cli import init

from penstock.events import ignore
from penstock.java import JarSet, ensure_jars, find_java
from penstock.settings import JavaSettings
from support.commands import Penstock
from support.declarative_projects import CHANGES, PROJECTS, VIEWS, DeclarativeProject
from support.projects_to_run import LONG, Project
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.local.cluster import KafkaCluster

Rows = list[str]
_SPARK_PIPELINES = Path(sys.executable).with_name("spark-pipelines")
_DELTA = (
    "spark.sql.extensions io.delta.sql.DeltaSparkSessionExtension\n"
    "spark.sql.catalog.spark_catalog org.apache.spark.sql.delta.catalog.DeltaCatalog\n"
)

_LABELLED, _UNLABELLED = 14, 7
"""Of the 21 events, those of kinds `a` and `b` have a label; 20 are in turn of three kinds."""

_RUN_SECONDS = 300.0
"""Six flows on two task slots, while this process reads their tables again and again."""

pytestmark = pytest.mark.timeout(900)


BRIEF = ("appending", "views")
"""Those that CI has the time for; the others take minutes each and are for `make soak`."""


@pytest.mark.long
def test_the_project_that_spark_writes_runs_as_it_is(
    spark: SparkSession,
    kafka: KafkaCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    init("shop")  # what `spark-pipelines init --name shop` calls, without its JVM
    project = _penstock_project(tmp_path / "shop", kafka)

    graph = project.penstock("graph", "--json", timeout_seconds=LONG)
    done = project.run("--once")

    assert graph.status == 0, graph.stderr
    assert [node["name"] for node in graph.json["nodes"] if node["kind"] == "dataset"] == [
        "example_python_materialized_view",
        "example_sql_materialized_view",
    ]
    assert done.status == 0, done.stderr
    python = _delta(spark, project, "example_python_materialized_view")
    sql = _delta(spark, project, "example_sql_materialized_view")
    assert sorted(row.id for row in python.collect()) == list(range(10))
    assert sorted(row.id for row in sql.collect()) == [0, 2, 4, 6, 8]


@pytest.mark.soak
@pytest.mark.parametrize(
    "declared",
    [
        pytest.param(item, id=item.name, marks=[pytest.mark.long] if item.name in BRIEF else [])
        for item in PROJECTS
    ],
)
def test_tables_are_the_same_as_under_sparks_own_runner(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path, declared: DeclarativeProject
) -> None:
    expected = _expected(declared, spark, tmp_path / "spark")

    _run_both_ways(declared, expected, spark, kafka, tmp_path)


@pytest.mark.soak
def test_changes_are_merged_by_key_in_the_order_of_their_sequence(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path
) -> None:
    """Late changes lose, deletions win over older changes, and each table has the columns asked."""
    people = [{"id": 1, "name": "b"}, {"id": 3, "name": "z"}]
    some = [{"id": 1, "v": 2}, {"id": 2, "v": 5}, {"id": 3, "v": 2}, {"id": 4, "v": 1}]
    expected = {"people": _texts(people), "some": _texts(some)}

    _run_both_ways(CHANGES, expected, spark, kafka, tmp_path)


@pytest.mark.soak
def test_a_declarative_flow_goes_on_where_a_killed_driver_was(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path
) -> None:
    project = _written(VIEWS, tmp_path / "views", kafka)
    with project.running("--json") as run:
        eventually(
            lambda: len(_found_yet(VIEWS, project, spark)["labelled"]) == _LABELLED,
            within_seconds=_RUN_SECONDS,
        )
        run.process.kill()
    (project.folder / "data/events/3.json").write_text(
        '{"id": 200, "kind": "a", "amount": 1, "at": "2026-06-01"}\n'
        '{"id": 201, "kind": "c", "amount": 1, "at": "2026-06-01"}\n'
    )

    for _ in range(2):  # there is nothing to do the second time
        _run_once(project)
        found = _found(VIEWS, project, spark)
        assert len(found["labelled"]) == len(set(found["labelled"])) == _LABELLED + 1
        assert len(found["unlabelled"]) == len(set(found["unlabelled"])) == _UNLABELLED + 1


def _run_both_ways(
    declared: DeclarativeProject,
    expected: dict[str, Rows],
    spark: SparkSession,
    kafka: KafkaCluster,
    folder: Path,
) -> None:
    """Run a project once, and always-on from nothing, and compare its tables with `expected`."""
    once = _written(declared, folder / "once", kafka)
    _run_once(once)
    assert _found(declared, once, spark) == expected

    always = _written(declared, folder / "always", kafka)
    with always.running("--json") as run:
        eventually(
            lambda: _found_yet(declared, always, spark) == expected,
            within_seconds=_RUN_SECONDS,
        )
        status = run.interrupt()
    assert status == 0, run.stderr
    assert _found(declared, always, spark) == expected


def _run_once(project: Project) -> None:
    done = project.penstock("run", "--once", timeout_seconds=_RUN_SECONDS)
    assert done.status == 0, done.stderr


def _written(declared: DeclarativeProject, folder: Path, kafka: KafkaCluster) -> Project:
    folder.mkdir()
    declared.write(folder)
    return _penstock_project(folder, kafka)


def _penstock_project(folder: Path, kafka: KafkaCluster) -> Project:
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "penstock"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
        "PENSTOCK_PIPELINE_NAME": f"sdp-{uuid4().hex[:12]}",
        "PENSTOCK_SPARK_MASTER": "local[2,4]",
        "PENSTOCK_SPARK_DRIVER_MEMORY_MB": "768",
    }
    return Project(folder, kafka.bootstrap, Penstock(folder, environment))


def _expected(declared: DeclarativeProject, spark: SparkSession, folder: Path) -> dict[str, Rows]:
    folder.mkdir()
    declared.write(folder)
    _spark_pipelines(folder, "run", with_delta=declared.needs_delta)
    place = folder / "spark-warehouse"
    form = "delta" if declared.needs_delta else "parquet"
    tables = {
        name: _rows(spark.read.format(form).load(f"{place}/{name}")) for name in declared.tables
    }
    return tables | _folders(declared, spark, folder)


def _found(declared: DeclarativeProject, project: Project, spark: SparkSession) -> dict[str, Rows]:
    tables = {name: _rows(_delta(spark, project, name)) for name in declared.tables}
    return tables | _folders(declared, spark, project.folder)


def _found_yet(
    declared: DeclarativeProject, project: Project, spark: SparkSession
) -> dict[str, Rows]:
    """Return what is there; tables without rows while not everything is."""
    try:
        return _found(declared, project, spark)
    except AnalysisException:  # no folder, or nothing committed in it
        return {name: [] for name in (*declared.tables, *declared.folders)}


def _folders(declared: DeclarativeProject, spark: SparkSession, folder: Path) -> dict[str, Rows]:
    return {name: _rows(spark.read.json(f"{folder}/{name}")) for name in declared.folders}


def _delta(spark: SparkSession, project: Project, table: str) -> DataFrame:
    place = project.folder / "penstock" / "tables" / table
    form = "delta" if (place / "_delta_log").exists() else "parquet"
    return spark.read.format(form).load(str(place))


def _rows(frame: DataFrame) -> Rows:
    return _texts([row.asDict() for row in frame.collect()])


def _texts(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Return the rows as texts, in an order that depends on them alone."""
    return sorted(repr(sorted(row.items())) for row in rows)


def _spark_pipelines(folder: Path, *arguments: str, with_delta: bool) -> None:
    conf = folder / "conf"
    conf.mkdir(exist_ok=True)
    java = find_java()
    jars = ",".join(map(str, ensure_jars(JarSet.SPARK, JavaSettings(), ignore, java)))
    # Delta's catalog confuses the partitions of plain tables, so it is there only for its own.
    (conf / "spark-defaults.conf").write_text(
        f"spark.jars {jars}\n" + (_DELTA if with_delta else "") + "spark.sql.session.timeZone UTC\n"
        "spark.driver.memory 768m\n"
        "spark.ui.enabled false\n"
    )
    environment = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(conf),
        "JAVA_HOME": str(java.home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [_SPARK_PIPELINES, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
