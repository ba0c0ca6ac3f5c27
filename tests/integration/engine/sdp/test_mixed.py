"""Sinks, projects that mix both kinds of declarations, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.pipeline import Sink

if TYPE_CHECKING:
    from support.declarative import DeclarativeLab


def test_a_sink_gets_every_row_once(project: DeclarativeLab) -> None:
    project.write(
        {
            "data/1.json": '{"id": 1}\n{"id": 2}\n',
            "transformations/out.py": f"""
            from pyspark import pipelines as dp

            dp.create_sink("files", "json", {{"path": "{project.folder}/out"}})

            @dp.append_flow(target="files")
            def write():
                return spark.readStream.schema("id bigint").json("{project.folder}/data")
            """,
        }
    )

    pipeline = project.run_once()
    project.run_once()

    assert isinstance(pipeline.datasets[0], Sink)
    rows = project.spark.read.schema("id bigint").json(str(project.folder / "out")).collect()
    assert sorted(row.id for row in rows) == [1, 2]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_both_kinds_of_declarations_read_each_other(project: DeclarativeLab) -> None:
    project.write(
        {
            "data/1.json": '{"id": 1}\n{"id": 2}\n{"id": 3}\n',
            "flows.py": f"""
            import penstock as ps

            ps.files("raw", "{project.folder}/data", value=ps.json("id bigint"))
            ps.table("doubled", schema="id bigint")

            @ps.flow(into="doubled")
            def double(kept):
                return kept.selectExpr("id * 2 AS id")
            """,
            "transformations/declared.py": """
            from pyspark import pipelines as dp
            from pyspark.sql import SparkSession

            session = SparkSession.active()

            @dp.table
            def kept():
                return session.readStream.table("raw").where("id > 1")

            @dp.materialized_view
            def whole():
                return spark.table("raw").join(SparkSession.active().table("doubled"), "id")
            """,
        }
    )

    pipeline = project.run_once()

    assert project.rows(pipeline, "kept") == [(2,), (3,)]
    assert project.rows(pipeline, "doubled") == [(4,), (6,)]
    assert project.rows(pipeline, "whole") == []
    assert pipeline.flow("whole").consults == ("raw", "doubled")


def test_what_is_not_supported_is_named_with_its_line(project: DeclarativeLab) -> None:
    project.write(
        {
            "transformations/wrong.py": """\
            from pyspark import pipelines as dp

            @dp.materialized_view(format="parquet")
            def plain():
                return spark.range(1)

            @dp.table(format="csv")
            def text():
                return spark.readStream.format("rate").load()

            @dp.table(name="other.place")
            def elsewhere():
                return spark.readStream.format("rate").load()

            @dp.table
            def not_streaming():
                return spark.range(1)

            @dp.materialized_view
            def streaming():
                return spark.readStream.format("rate").load()

            @dp.temporary_view
            def shown():
                return spark.readStream.format("rate").load()

            @dp.append_flow(target="nowhere")
            def lost():
                return spark.readStream.format("rate").load()
            """,
            "transformations/notes.txt": "",
            "flows.py": """\
            import penstock as ps

            ps.table("copied")

            @ps.flow(into="copied")
            def copy(shown):
                return shown
            """,
        },
        spec="catalog: elsewhere\n",
    )

    found = project.problems()

    assert [(code, file, line) for code, _, file, line in found] == [
        ("PEN-370", "flows.py", 5),
        ("PEN-370", "spark-pipeline.yml", 6),
        ("PEN-370", "notes.txt", None),
        ("PEN-370", "wrong.py", 3),
        ("PEN-370", "wrong.py", 7),
        ("PEN-370", "wrong.py", 11),
        ("PEN-372", "wrong.py", 15),
        ("PEN-372", "wrong.py", 19),
        ("PEN-104", "wrong.py", 27),
    ]


def test_faults_of_functions_and_modules_point_at_the_users_line(project: DeclarativeLab) -> None:
    project.write(
        {
            "transformations/a.py": "\nraise ValueError('why')\n",
            "transformations/b.py": """\
            from pyspark import pipelines as dp

            @dp.materialized_view
            def columns():
                rows = spark.range(1)
                return rows.select("nope")

            @dp.materialized_view
            def missing():
                return spark.table("nothing")

            @dp.materialized_view
            def ring():
                return spark.table("rung")

            @dp.materialized_view
            def rung():
                return spark.table("ring")
            """,
        }
    )

    found = project.problems()

    assert [(code, file, line) for code, _, file, line in found] == [
        ("PEN-102", "a.py", 2),
        ("PEN-320", "b.py", 6),
        ("PEN-320", "b.py", 10),
        ("PEN-106", "b.py", 12),
    ]
