"""Tables, append flows, temporary and materialized views of `pyspark.pipelines`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.pipeline import MaterializedView, Table, TableFormat, View, graph_of

if TYPE_CHECKING:
    from support.declarative import DeclarativeLab

EVENTS = """\
    {"id": 1, "kind": "a", "amount": 10}
    {"id": 2, "kind": "b", "amount": 20}
    {"id": 3, "kind": "a", "amount": 30}
"""
SHOP = """
    from pyspark import pipelines as dp
    from pyspark.sql import functions as F

    @dp.materialized_view
    def totals():
        return spark.read.table("events").groupBy("kind").agg(F.sum("amount").alias("total"))

    @dp.temporary_view
    def big():
        return spark.readStream.table("events").where("amount > 15")

    @dp.table(name="big_events", comment="Those above 15.", partition_cols=["kind"])
    def kept():
        return spark.readStream.table("big")

    @dp.table
    def events():
        return spark.readStream.schema("id bigint, kind string, amount bigint").json("{data}")
"""


def _shop(project: DeclarativeLab) -> None:
    data = project.folder / "data"
    project.write(
        {"data/1.json": EVENTS, "transformations/shop.py": SHOP.replace("{data}", str(data))}
    )


@pytest.mark.long
@pytest.mark.timeout(300)
def test_tables_and_views_are_computed_whatever_the_order_of_their_definitions(
    project: DeclarativeLab,
) -> None:
    _shop(project)

    pipeline = project.run_once()

    assert project.rows(pipeline, "events") == [(1, "a", 10), (2, "b", 20), (3, "a", 30)]
    assert project.rows(pipeline, "big_events") == [(2, "b", 20), (3, "a", 30)]
    assert project.rows(pipeline, "totals") == [("a", 40), ("b", 20)]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_second_run_reads_only_what_is_new_and_replaces_materialized_views(
    project: DeclarativeLab,
) -> None:
    _shop(project)
    project.run_once()
    (project.folder / "data" / "2.json").write_text('{"id": 4, "kind": "b", "amount": 5}\n')

    pipeline = project.run_once()

    assert [row[0] for row in project.rows(pipeline, "events")] == [1, 2, 3, 4]
    assert project.rows(pipeline, "totals") == [("a", 40), ("b", 25)]


def test_a_project_becomes_a_pipeline_like_any_other(project: DeclarativeLab) -> None:
    _shop(project)

    pipeline = project.load()

    kinds = {item.name: type(item) for item in pipeline.datasets}
    assert kinds == {"totals": MaterializedView, "big": View, "big_events": Table, "events": Table}
    assert {flow.name: (flow.reads, flow.consults) for flow in pipeline.flows} == {
        "totals": ((), ("events",)),
        "big_events": (("big",), ()),
        "events": ((), ()),
    }
    kept = pipeline.dataset(pipeline.flow("big_events").targets[""])
    assert isinstance(kept, Table)
    assert (kept.description, kept.partition_by, kept.format) == (
        "Those above 15.",
        ("kind",),
        TableFormat.DELTA,
    )
    assert pipeline.flow("totals").origin.line == 5
    edges = {(edge.source, edge.target) for edge in graph_of(pipeline).edges}
    assert edges == {
        ("dataset:events", "dataset:big"),
        ("dataset:events", "flow:totals"),
        ("dataset:big", "flow:big_events"),
        ("flow:events", "dataset:events"),
        ("flow:big_events", "dataset:big_events"),
        ("flow:totals", "dataset:totals"),
    }


@pytest.mark.long
@pytest.mark.timeout(300)
def test_several_append_flows_into_one_table_keep_every_row(project: DeclarativeLab) -> None:
    """Spark's file sink would lose the rows of all flows but one; columns may differ."""
    for number in range(3):
        file = project.folder / "data" / f"{number}" / "x.json"
        file.parent.mkdir(parents=True)
        file.write_text(f'{{"id": {number}}}\n{{"id": {number + 10}}}\n')
    project.write(
        {
            "transformations/all.py": f"""
            from pyspark import pipelines as dp
            from pyspark.sql import functions as F

            dp.create_streaming_table("everything")

            for number in range(3):
                @dp.append_flow(target="everything", name=f"from_{{number}}")
                def flow(number=number):
                    rows = spark.readStream.schema("id bigint").json(
                        f"{project.folder}/data/{{number}}")
                    return rows.withColumn("where", F.lit(number)) if number else rows
            """
        }
    )

    pipeline = project.run_once()

    assert project.rows(pipeline, "everything") == [
        (0, None),
        (1, 1),
        (10, None),
        (11, 1),
        (12, 2),
        (2, 2),
    ]
