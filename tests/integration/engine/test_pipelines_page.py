"""The Python of `docs/pipelines.md` is a project that Spark accepts, and its drawing is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engine.analysis import analyze
from penstock.pipeline import graph_of
from penstock.pipeline.drawings import as_text
from support.declarations import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline

PAGE = (Path(__file__).parents[3] / "docs" / "pipelines.md").read_text("utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    (tmp_path / "flows.py").write_text("\n".join(SNIPPETS), encoding="utf-8")
    return load(tmp_path)


def test_the_snippets_of_the_page_are_a_valid_project(
    pipeline: Pipeline, spark: SparkSession
) -> None:
    (pipeline.folder / "customers.csv").write_text("customer,tier\n", encoding="utf-8")
    assert [problem.message for problem in analyze(pipeline, spark)] == []


def test_the_test_on_the_page_passes(pipeline: Pipeline, spark: SparkSession) -> None:
    pipeline.flow("split").function.__globals__["test_amounts_decide_the_route"](spark)


def test_the_drawing_on_the_page_is_that_of_the_snippets(pipeline: Pipeline) -> None:
    assert f"```\n{as_text(graph_of(pipeline))}\n```" in PAGE
