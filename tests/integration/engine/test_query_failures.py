"""Failures as Spark really gives them, each in the user's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.engine.events import FailureClass
from penstock.errors import PenstockError
from penstock.names import TopicName
from penstock.pipeline import Json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame

    from penstock.engine.failures import Failure
    from penstock.pipeline import Topic
    from support.flow_runs import FlowLab

WORDS = Json("word string")


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


def shout(word: str) -> str:
    raise ValueError("no voice for " + word)


def upper(lines: DataFrame) -> DataFrame:
    # A lambda has no annotations, which PySpark cannot read as texts.
    loud = F.udf(lambda word: shout(word), "string")
    return lines.select(loud("value").alias("word"))


def numbers(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").cast("int").cast("string").alias("word"))


def failure_of_run(lab: FlowLab, function: Callable[..., DataFrame], **settings: str) -> Failure:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    query = lab.query(function, lines, into=out, conf=settings)
    query.start()
    assert query.await_end(60)
    assert query.failure is not None
    return query.failure


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 - its own source
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_a_function_that_raises_is_told_at_its_line(lab: FlowLab) -> None:
    failure = failure_of_run(lab, upper)
    assert (failure.failure, failure.error.code) == (FailureClass.CODE, "PEN-347")
    assert failure.error.message == "flow `flow`: `shout` raised ValueError: no voice for a"
    assert failure.error.origin is not None
    assert failure.error.origin.line == line_of("raise ValueError(")


def test_a_value_that_cannot_be_cast_is_told_at_the_line_of_the_cast(lab: FlowLab) -> None:
    failure = failure_of_run(lab, numbers)
    assert (failure.failure, failure.error.code) == (FailureClass.DATA, "PEN-348")
    assert failure.error.message.startswith("flow `flow`: The value 'a' of the type \"STRING\"")
    assert failure.error.origin is not None
    assert failure.error.origin.line == line_of('cast("int")')


def test_a_setting_that_spark_refuses_is_told_at_the_flow(lab: FlowLab) -> None:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    query = lab.query(copy, lines, into=out, conf={"spark.sql.shuffle.partitions": "many"})
    with pytest.raises(PenstockError) as refused:
        query.start()
    assert refused.value.code == "PEN-355"


def test_a_topic_that_does_not_exist_is_told_before_the_query_starts(lab: FlowLab) -> None:
    absent = lab.declared("lines", TopicName(f"{lab.name}-absent"))
    with pytest.raises(PenstockError) as refused:
        lab.query(copy, absent, into=lab.topic("words", value=WORDS)).start()
    assert refused.value.code == "PEN-402"


def test_a_checkpoint_that_cannot_be_written_is_told_with_its_path(lab: FlowLab) -> None:
    lab.root.parent.mkdir(parents=True)
    lab.root.write_text("a file where a folder should be")
    with pytest.raises(PenstockError) as refused:
        lab.query(copy, lab.topic("lines"), into=lab.topic("words", value=WORDS)).start()
    assert refused.value.code == "PEN-340"
    assert str(lab.root) in refused.value.message


def damaged(lab: FlowLab, lines: Topic, out: Topic, file: str, text: str | None) -> PenstockError:
    """Damage a file of the checkpoint, start, repair it, and return what was said."""
    path, checksum = lab.checkpoint / file, _checksum(lab.checkpoint / file)
    kept, kept_checksum = path.read_bytes(), checksum.read_bytes()
    checksum.unlink()
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(PenstockError) as refused:
        lab.query(copy, lines, into=out).start()
    path.write_bytes(kept)
    checksum.write_bytes(kept_checksum)
    return refused.value


def _checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def test_a_damaged_checkpoint_is_told_with_the_file_and_a_remedy(lab: FlowLab) -> None:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    lab.run(copy, lines, into=out)
    lab.send(lines, ["b"])
    lab.run(copy, lines, into=out)

    faults = {
        file: damaged(lab, lines, out, file, text)
        for file, text in (
            ("metadata", None),
            ("offsets/1", ""),
            ("offsets/1", None),
            ("commits/1", "v1\n{garbled"),
        )
    }
    assert {fault.code for fault in faults.values()} == {"PEN-342"}
    assert all(file in fault.message for file, fault in faults.items())
    assert "commits/.1.crc" in faults["commits/1"].hint

    lab.run(copy, lines, into=out)
