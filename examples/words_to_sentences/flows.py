"""Words to sentences: each word is a record, and a word that ends with a full stop ends a sentence.

The words of an unfinished sentence are state, which Spark keeps with the checkpoint. A run that is
killed in the middle of a sentence goes on with the words it had.
"""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

import penstock as ps

ps.topic(
    "words",
    kafka_name="sentences.words",
    partitions=1,  # there is no order between partitions, and so no sentences across them
    description="a text, word by word",
)
ps.topic(
    "sentences",
    kafka_name="sentences.sentences",
    value=ps.json("partition int, last_offset bigint, words int, sentence string"),
    key=("partition", "last_offset"),
    key_format=ps.json("partition int, last_offset bigint"),
    partitions=1,
    compacted=True,
    description="whole sentences, each known by the place of its last word",
)

SENTENCE = "partition int, last_offset bigint, words int, sentence string"


class Sentences(StatefulProcessor):
    """Joins the words of a partition; between batches it keeps those after the last full stop."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._begun = handle.getValueState("begun", "words array<string>")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[int],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803 - Spark gives it by this name
    ) -> Iterator[Row]:
        """Return the sentences that end in this batch."""
        (partition,) = key
        words = list((self._begun.get() or ([],))[0])
        # A shuffle brought the rows here, and promises no order.
        for row in sorted(rows, key=lambda row: row.offset):
            words.append(row.word)
            if row.word.endswith("."):
                yield Row(
                    partition=partition,
                    last_offset=row.offset,
                    words=len(words),
                    sentence=" ".join(words),
                )
                words = []
        self._begun.update((words,))


@ps.flow(into="sentences")
def join_words(words: DataFrame) -> DataFrame:
    """Sentences of the words in each partition; blank words are left out."""
    return (
        words.select(
            F.trim("value").alias("word"),
            F.col("_record.partition").alias("partition"),
            F.col("_record.offset").alias("offset"),
        )
        .where("word != ''")
        .groupBy("partition")
        .transformWithState(Sentences(), SENTENCE, outputMode="append", timeMode="none")
    )
