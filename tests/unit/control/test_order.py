"""The order in which flows that end are run."""

from __future__ import annotations

from pathlib import Path

import penstock as ps
from penstock.control.order import writers_before
from penstock.names import PipelineName
from penstock.pipeline import Pipeline, collecting


def declared() -> Pipeline:
    """Two flows in a chain through a view, one that looks the result up, and one apart."""
    with collecting() as collected:
        for name in ("raw", "clean", "counts", "apart_in", "apart_out"):
            ps.topic(name, compacted=name == "counts")
        ps.lookup("known", "counts")

        @ps.flow(into="clean")
        def cleaning(raw: object) -> object:
            return raw

        @ps.view
        def cleaned(clean: object) -> object:
            return clean

        @ps.flow(into="counts")
        def counting(cleaned: object) -> object:
            return cleaned

        @ps.flow(into="apart_out")
        def apart(apart_in: object, known: object) -> tuple[object, object]:
            return apart_in, known

    assert collected.problems == []
    return Pipeline(
        name=PipelineName("trial"),
        folder=Path(),
        datasets=tuple(collected.datasets),
        flows=tuple(collected.flows),
    )


def test_a_flow_comes_after_those_that_write_what_it_reads_or_looks_up() -> None:
    pipeline = declared()

    assert writers_before(pipeline, pipeline.flows) == {
        "cleaning": set(),
        "counting": {"cleaning"},
        "apart": {"counting"},
    }


def test_flows_that_do_not_run_are_not_waited_for() -> None:
    pipeline = declared()

    assert writers_before(pipeline, pipeline.only(["counting"])) == {"counting": set()}
