"""The example `words_to_sentences` by the numbers of the labs."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from support.commands import Penstock
from support.example_runs import EXAMPLES, ExampleRuns, load_example, rows_of
from support.producing import Sent, send
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)  # queries start slowly on a busy machine

WORDS = (EXAMPLES / "words_to_sentences/words.txt").read_text().splitlines()
LENGTHS = [20, 29, 16, 20]
LAST_WORDS = ["vermin.", "sections.", "moment.", "looked."]
FIRST_SENTENCE = (
    "One morning, when Gregor Samsa woke from troubled dreams, he found himself transformed in his"
    " bed into a horrible vermin."
)
SCHEMA = "value string, _record struct<partition int, offset bigint>"


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("words_to_sentences", spark, kafka, tmp_path) as runs:
        yield runs


def sent(words: Sequence[str]) -> list[Sent]:
    """Return the records of the labs' producer: key and value are the word."""
    return [Sent(key=word, value=word) for word in words]


def test_the_text_is_that_of_the_labs() -> None:
    assert len(WORDS) == 85
    assert len(set(WORDS)) == 72


def test_words_become_sentences_in_the_order_of_their_offsets(spark: SparkSession) -> None:
    """Rows come shuffled, some are blank, the text ends in mid-sentence; another is beside it."""
    words = [" ", *WORDS, "", "And", None]
    rows = [(word, (0, offset)) for offset, word in enumerate(words)]
    rows += [("Gates", (1, 7)), ("open.", (1, 8))]
    Random(1).shuffle(rows)  # noqa: S311 - any order will do

    frame = spark.createDataFrame(rows, SCHEMA)
    both = rows_of(load_example("words_to_sentences"), "join_words", words=frame)

    found = [row for row in both if row["partition"] == 0]
    assert [row["words"] for row in found] == LENGTHS
    assert [row["sentence"].split()[-1] for row in found] == LAST_WORDS
    assert [row["last_offset"] for row in found] == [20, 49, 65, 85]
    assert found[0]["sentence"] == FIRST_SENTENCE
    assert [row["sentence"] for row in both if row["partition"] == 1] == ["Gates open."]


def test_a_crash_in_the_middle_of_a_sentence_loses_and_doubles_no_word(runs: ExampleRuns) -> None:
    """The first run ends one word into the third sentence, and its last batch is repeated."""
    runs.send("words", sent(WORDS[:50]))
    runs.run_once()
    before = runs.rows("sentences")
    runs.forget_last_commit("join_words")
    runs.send("words", sent(WORDS[50:]))

    runs.run_once()

    records = runs.lab.records(runs.topic("sentences").kafka_name)
    assert [row["words"] for row in before] == LENGTHS[:2]
    rows = runs.rows("sentences")
    assert [row["words"] for row in rows] == LENGTHS
    assert " ".join(row["sentence"] for row in rows).split() == WORDS
    assert (records[0].key, rows[0]["sentence"]) == (
        b'{"partition":0,"last_offset":19}',
        FIRST_SENTENCE,
    )


@pytest.mark.long
def test_as_a_batch_the_command_finds_the_same_sentences(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    """Nothing has streamed in this Spark before, and state needs what streams usually start."""
    data_dir = str(tmp_path / "data")
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": data_dir,
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
        "PENSTOCK_SPARK_MASTER": "local[2,4]",
        "PENSTOCK_SPARK_DRIVER_MEMORY_MB": "768",
    }
    send(kafka.connection, kafka.create_topic("sentences.words"), sent(WORDS))

    project = str(EXAMPLES / "words_to_sentences")
    outcome = Penstock(tmp_path, environment)(
        "run", project, "--from", "beginning", timeout_seconds=350
    )

    assert outcome.status == 0, outcome.stderr
    records = topic_contents(kafka.bootstrap, "sentences.sentences")
    assert [json.loads(record.value or b"")["words"] for record in records] == LENGTHS
