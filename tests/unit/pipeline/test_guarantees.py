"""What flows offer their targets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.names import DatasetName
from penstock.pipeline import Changes, Guarantee, Sink, guarantees
from support.declarations import declared
from support.declared import ORIGIN

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline import Flow, Pipeline

DECLARED = """
ps.topic("a")
ps.topic("b")
ps.table("rows")
ps.table("latest", key="id")
ps.table("plain", format="parquet")
"""


def one_flow(folder: Path, arguments: str) -> tuple[Pipeline, Flow]:
    pipeline = declared(folder, f"{DECLARED}\n@ps.flow({arguments})\ndef f(a): ...\n")
    return pipeline, pipeline.flow("f")


@pytest.mark.parametrize(
    ("arguments", "offered"),
    [
        ('into="b"', {"b": "exactly once"}),
        ('into="b", delivery="exactly_once"', {"b": "exactly once"}),
        ('into="b", delivery="at_least_once"', {"b": "at least once"}),
        ('into="b", delivery="at_most_once"', {"b": "at most once"}),
        (
            'into="b", trigger="real_time", delivery="at_least_once"',
            {"b": "at least once"},
        ),
        ('into="rows", delivery="at_least_once"', {"rows": "exactly once"}),
        ('into="latest", output_mode="update"', {"latest": "exactly once"}),
        ('into="plain"', {"plain": "exactly once"}),
        (
            'into={"x": "plain", "y": "b", "z": "rows"}, delivery="exactly_once"',
            {"plain": "at least once", "b": "exactly once", "rows": "exactly once"},
        ),
        (
            'into={"x": "b", "y": "rows"}, delivery="at_most_once"',
            {"b": "at most once", "rows": "exactly once"},
        ),
        (
            'into={"x": "b", "y": "rows"}, delivery="at_least_once"',
            {"b": "at least once", "rows": "at least once"},
        ),
    ],
)
def test_each_target_is_told_what_it_is_offered(
    tmp_path: Path, arguments: str, offered: dict[str, str]
) -> None:
    pipeline, flow = one_flow(tmp_path, arguments)

    assert guarantees(flow, pipeline) == offered


def test_changes_replace_rows_by_their_keys_and_a_sink_may_get_a_batch_twice(
    tmp_path: Path,
) -> None:
    pipeline, flow = one_flow(tmp_path, 'into="latest"')
    changing = replace(flow, changes=Changes(keys=("id",), sequence_by="n"))
    console = Sink(name=DatasetName("console"), format="console", origin=ORIGIN)
    showing = replace(flow, targets={"": console.name})
    more = replace(pipeline, datasets=(*pipeline.datasets, console))

    assert guarantees(changing, pipeline) == {"latest": Guarantee.IDEMPOTENT}
    assert guarantees(showing, more) == {"console": Guarantee.AT_LEAST_ONCE}
