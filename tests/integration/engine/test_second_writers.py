"""Another process on the checkpoint of a flow is told of, whatever it is that fails then."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.engine.checkpoints import CheckpointFolder, DamagedCheckpointError
from penstock.engine.second_writers import check_alone
from penstock.engine.storage import Storage
from penstock.errors import PenstockError
from penstock.names import FlowName
from penstock.pipeline import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from support.flow_runs import FlowLab

WORDS = Json("word string")


class Moving(CheckpointFolder):
    """A checkpoint in which another process ends a batch just when somebody looks."""

    def check(self) -> None:
        try:
            super().check()
        finally:
            Path(self.location.removeprefix("file:"), "commits", "1").touch()


def overtaken(checkpoint: Path) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that fails after another process has planned the batches behind it."""
    plans = str(checkpoint / "offsets")

    def fail(word: str) -> str:
        for batch in (1, 2):
            shutil.copy(f"{plans}/0", f"{plans}/{batch}")
        raise ValueError(word)

    def flow(lines: DataFrame) -> DataFrame:
        failing = F.udf(lambda word: fail(word), "string")
        return lines.select(failing("value").alias("word"))

    return flow


def test_a_query_that_was_overtaken_tells_of_the_other_process(lab: FlowLab) -> None:
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    query = lab.query(overtaken(lab.checkpoint), lines, into=words)
    query.start()
    assert query.await_end(60)

    assert query.failure is not None
    error = query.failure.error
    assert (error.code, error.retryable) == ("PEN-350", False)
    assert "another process runs it too, and is at batch 2 of its checkpoint" in error.message


@pytest.mark.parametrize(
    ("kind", "code"), [(CheckpointFolder, "PEN-342"), (Moving, "PEN-350")], ids=["still", "moving"]
)
def test_a_checkpoint_that_changes_under_the_eyes_is_not_damaged(
    spark: SparkSession, tmp_path: Path, kind: type[CheckpointFolder], code: str
) -> None:
    """Whoever looks while the other process goes on finds a plan and no commit before it."""
    checkpoint = kind(Storage(spark, str(tmp_path)), "flow")
    for file in ("offsets/0", "offsets/1", "offsets/2", "commits/0"):
        path = tmp_path / "flow" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("v2\n{}")
    (tmp_path / "flow" / "metadata").write_text('{"id":"8f4f"}')

    with pytest.raises(PenstockError) as refused:
        check_alone(checkpoint, FlowName("flow"))

    assert refused.value.code == code
    if kind is Moving:
        assert isinstance(refused.value.__cause__, DamagedCheckpointError)
