r"""Word count, written three ways that agree: with DataFrames, in SQL, and with state of our own.

Lines come in through the topic `wordcount-input`. Words are what stands between the characters of
`\W+`, in lower case; "the" does not count. Each way keeps a topic with the running count of every
word. State grows with the vocabulary, for which no watermark helps: a language has an end.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

import penstock as ps

ps.topic("lines", kafka_name="wordcount-input", partitions=2, description="lines of text")
for name, kafka_name in {
    "counts": "wordcount-output",
    "counts_of_sql": "wordcount-sql",
    "counts_of_state": "wordcount-stateful",
}.items():
    ps.topic(
        name,
        kafka_name=kafka_name,
        value=ps.text(),
        key="word",
        partitions=2,
        compacted=True,
        description="how often each word has come so far",
    )


@ps.view
def words(lines: DataFrame) -> DataFrame:
    """Every word of every line, without "the"."""
    # A line that begins or ends with punctuation has an empty word there.
    word = F.explode(F.split(F.lower("value"), r"\W+"))
    return lines.select(word.alias("word")).where("word NOT IN ('', 'the')")


@ps.flow(into="counts", output_mode="update")
def count(words: DataFrame) -> DataFrame:
    """How often each word has come, by an aggregation."""
    counted = words.groupBy("word").count()
    return counted.select("word", F.col("count").cast("string").alias("value"))


@ps.flow(into="counts_of_sql", output_mode="update")
def count_in_sql(lines: DataFrame) -> DataFrame:
    """How often each word has come, in SQL from end to end."""
    return lines.sparkSession.sql(
        r"""
        SELECT word, CAST(count(*) AS string) AS value
        FROM (SELECT explode(split(lower(value), r'\W+')) AS word FROM {lines})
        WHERE word NOT IN ('', 'the')
        GROUP BY word
        """,
        lines=lines,
    )


class Counter(StatefulProcessor):
    """Keeps the count of one word."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state: one number for each word."""
        self._count = handle.getValueState("count", "count bigint")

    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,  # noqa: ANN401 - a tuple of the columns that are grouped by
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803, ARG002 - as above
    ) -> Iterator[Row]:
        """Add the words of this batch to those of all batches before."""
        (before,) = self._count.get() or (0,)
        count = before + sum(1 for _ in rows)
        self._count.update((count,))
        yield Row(word=key[0], value=str(count))


@ps.flow(into="counts_of_state", output_mode="update")
def count_with_state(words: DataFrame) -> DataFrame:
    """How often each word has come, counted by Python in Spark's workers."""
    return words.groupBy("word").transformWithState(
        Counter(),
        outputStructType="word string, value string",
        outputMode="Update",
        timeMode="None",
    )
