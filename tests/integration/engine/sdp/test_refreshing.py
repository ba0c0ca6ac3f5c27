"""Materialized views of a pipeline that is always on."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from penstock.engine.events import BatchFinished
from support.waiting import eventually

if TYPE_CHECKING:
    from support.declarative import DeclarativeLab

VIEWS = """
    from pyspark import pipelines as dp

    @dp.table
    def events():
        return spark.readStream.schema("id bigint").json("{data}")

    @dp.materialized_view(table_properties={"penstock.refresh": "1 second"})
    def counted():
        return spark.sql("SELECT count(*) AS n FROM events")

    @dp.materialized_view
    def slow():
        return spark.table("counted")
"""


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_view_is_computed_again_when_what_it_reads_has_moved(project: DeclarativeLab) -> None:
    data = project.folder / "data"
    project.write(
        {"data/1.json": '{"id": 1}\n', "transformations/v.py": VIEWS.replace("{data}", str(data))}
    )
    pipeline = project.run_once()
    project.events.clear()
    view = project.query(pipeline, pipeline.flow("counted"), once=False)
    view.start()
    thread = Thread(target=view.await_end)
    thread.start()

    def computed() -> int:
        return len([event for event in project.events if isinstance(event, BatchFinished)])

    try:
        eventually(lambda: computed() == 1, within_seconds=60)
        (data / "2.json").write_text('{"id": 2}\n{"id": 3}\n')
        events = project.query(pipeline, pipeline.flow("events"))
        events.start()
        assert events.await_end(60)
        eventually(lambda: project.rows(pipeline, "counted") == [(3,)], within_seconds=60)
    finally:
        view.stop_after_batch(30)
        thread.join(30)

    assert view.failure is None
    told = [event for event in project.events if isinstance(event, BatchFinished)]
    assert [event.output_rows for event in told if event.flow == "counted"] == [1, 1]


def test_a_view_says_how_often_it_is_computed_at_most(project: DeclarativeLab) -> None:
    views = VIEWS.replace("{data}", str(project.folder))
    project.write({"transformations/v.py": views})
    assert _refreshes(project) == {"counted": 1, "slow": 60}

    project.write(
        {"transformations/v.py": views}, spec='configuration:\n  penstock.refresh: "5 minutes"\n'
    )
    assert _refreshes(project) == {"counted": 1, "slow": 300}


def _refreshes(project: DeclarativeLab) -> dict[str, float]:
    pipeline = project.load()
    return {
        flow.name: (flow.refresh or timedelta()).total_seconds()
        for flow in pipeline.flows
        if flow.refresh
    }
