"""Word count: every variant, as a stream and as a batch, gives the counts made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from support.example_runs import EXAMPLES, ExampleRuns, last_values, load_script
from support.producing import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.local.cluster import KafkaCluster
    from support.topic_contents import Stored

pytestmark = pytest.mark.timeout(400)  # flows are started several times

FLOWS = load_script("word_count/flows.py")
OUTPUTS = ("counts", "counts_of_sql", "counts_of_state")
LINES = (EXAMPLES / "word_count" / "lines.txt").read_text(encoding="utf-8").splitlines()
OFTEN = {"and": 3, "wheel": 3}
TWICE = ("a", "canal", "fills", "gate", "it", "miller", "open", "pond", "river")
ONCE = ("closed", "full", "is", "mill", "penstock", "said", "still", "stood", "then", "turned")
COUNTS = OFTEN | dict.fromkeys(TWICE, 2) | dict.fromkeys((*ONCE, "turns", "was"), 1)


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("word_count", spark, kafka, tmp_path) as runs:
        yield runs


def lines_of(spark: SparkSession, *lines: str) -> DataFrame:
    return spark.createDataFrame([(line,) for line in lines], "value string")


def counted(records: Iterable[Stored]) -> dict[str, int]:
    return {(key or b"").decode(): int(value) for key, value in last_values(records).items()}


def test_words_are_lower_case_and_neither_empty_nor_the(spark: SparkSession) -> None:
    lines = lines_of(spark, "...The Mill, the mill's THE-wheel!", "", "the")

    words = [row["word"] for row in FLOWS.words(lines).collect()]

    assert words == ["mill", "mill", "s", "wheel"]


def test_dataframes_and_sql_count_the_sample_as_by_hand(spark: SparkSession) -> None:
    lines = lines_of(spark, *LINES)

    by_frames = FLOWS.count(FLOWS.words(lines))
    by_sql = FLOWS.count_in_sql(lines)

    for result in (by_frames, by_sql):
        assert {row["word"]: int(row["value"]) for row in result.collect()} == COUNTS


def test_the_count_of_a_word_goes_on_from_batch_to_batch() -> None:
    counter = TwsTester(FLOWS.Counter())

    first = counter.test("wheel", [Row(word="wheel"), Row(word="wheel")])
    second = counter.test("wheel", [Row(word="wheel")])

    assert [first, second] == [[Row(word="wheel", value="2")], [Row(word="wheel", value="3")]]


@pytest.mark.long
def test_stream_sql_state_and_batch_agree(runs: ExampleRuns) -> None:
    """The stream stops and goes on in the middle; the batch reads all of it at once."""
    for part in (LINES[:2], LINES[2:]):
        runs.send("lines", [Sent(value=line) for line in part])
        runs.run_once()
    streamed = {topic: runs.records(topic) for topic in OUTPUTS}
    runs.run_as_batch()

    for topic, records in streamed.items():
        assert counted(records) == COUNTS, topic
        batch = runs.records(topic, besides=records)
        assert counted(batch) == COUNTS, topic
        assert len(batch) == len(COUNTS)
