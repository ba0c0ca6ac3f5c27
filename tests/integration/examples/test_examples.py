"""What holds for every example: Spark accepts it, and it does not get in the way of another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from penstock.cli.projects import load_project
from penstock.engine.analysis import analyze
from penstock.pipeline import Table, Topic
from support.contracts import contracts_at
from support.example_runs import EXAMPLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline

NAMES = sorted(str(path.parent.relative_to(EXAMPLES)) for path in EXAMPLES.glob("**/penstock.toml"))


def load(name: str) -> Pipeline:
    """Return the pipeline of an example, with its own settings."""
    _, pipeline = load_project(EXAMPLES / name, None)
    return pipeline


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_no_problems(name: str, spark: SparkSession, registry_url: str) -> None:
    contracts = contracts_at(spark, EXAMPLES / name, registry_url)

    problems = analyze(load(name), spark, contracts=contracts)

    contracts.close()
    assert [problem.message for problem in problems] == []


def test_no_two_examples_share_a_name_a_topic_or_a_table() -> None:
    """They run on one Kafka and in one warehouse when somebody tries all of them.

    Topics of others (`external=True`) are there for several.
    """
    used: Counter[str] = Counter()
    for pipeline in map(load, NAMES):
        used[f"pipeline {pipeline.name}"] += 1
        for item in pipeline.datasets:
            if isinstance(item, Topic) and not item.external:
                used[f"topic {item.kafka_name}"] += 1
            elif isinstance(item, Table):
                used[f"table {item.name}"] += 1

    assert len(NAMES) > 4
    assert [name for name, count in used.items() if count > 1] == []
