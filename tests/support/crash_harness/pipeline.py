"""The pipeline under test: record by record, windows without duplicates, pairs of two topics."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from pathlib import Path

ACCOUNTS, REMAINDERS, PARTITIONS = 11, 7, 3
NUMBERS_A_SECOND = 50
"""Of event time, which begins at `START`."""

START = 1_700_000_000
WINDOW_SECONDS = 10
FLOWS = ("keep", "add_up", "pair")
OUTPUTS = {"keep": "kept", "add_up": "sums", "pair": "pairs"}

_DECLARED = """
    import penstock as ps
    from pyspark.sql import DataFrame, functions as F

    LATE = {{"event_time": "at", "allowed_lateness": "1 minute", "most_per_trigger": 3000}}
    OUT = {{"partitions": 3}}

    ps.topic(
        "numbers", kafka_name="{prefix}-numbers", partitions=3,
        value=ps.json("id bigint, account bigint, at timestamp"), **LATE,
    )
    ps.topic(
        "answers", kafka_name="{prefix}-answers", partitions=3,
        value=ps.json("id bigint, answer bigint, at timestamp"), **LATE,
    )
    ps.topic(
        "kept", kafka_name="{prefix}-kept", key="account",
        value=ps.json("id bigint, account bigint"), **OUT,
    )
    ps.topic(
        "sums", kafka_name="{prefix}-sums", key=("remainder", "start"),
        key_format=ps.json("remainder bigint, start timestamp"),
        value=ps.json("remainder bigint, start timestamp, total bigint, count bigint"), **OUT,
    )
    ps.topic(
        "pairs", kafka_name="{prefix}-pairs", key="id",
        value=ps.json("id bigint, answer bigint"), **OUT,
    )


    @ps.flow(into="kept", delivery="{delivery}")
    def keep(numbers: DataFrame) -> DataFrame:
        return numbers.where("id % 3 != 0").select("id", "account")


    @ps.flow(into="sums", delivery="{delivery}")
    def add_up(numbers: DataFrame) -> DataFrame:
        once = numbers.transform(ps.deduplicate(by="id", within="30 seconds"))
        groups = once.groupBy((F.col("id") % 7).alias("remainder"), F.window("at", "10 seconds"))
        sums = groups.agg(F.sum("id").alias("total"), F.count("*").alias("count"))
        return sums.select("remainder", F.col("window.start").alias("start"), "total", "count")


    @ps.flow(into="pairs", delivery="{delivery}")
    def pair(numbers: DataFrame, answers: DataFrame) -> DataFrame:
        theirs = answers.select(
            F.col("id").alias("of"), "answer", F.col("at").alias("answered")
        )
        soon = F.expr("id = of and answered between at and at + interval 5 seconds")
        return numbers.join(theirs, soon).select("id", "answer")
"""

_SETTINGS = """
    [pipeline]
    name = "{prefix}"
    restart_limit = 1000
    [platform]
    data_dir = "{data}"
    [spark]
    master = "{master}"
    driver_memory_mb = 768
    [spark.conf]
    "spark.sql.shuffle.partitions" = "2"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineUnderTest:
    """A pipeline under test, on topics of its own."""

    folder: Path
    data: Path
    """Where its checkpoints are."""

    prefix: str

    @classmethod
    def declare(
        cls, folder: Path, *, delivery: str, data: Path, master: str = "local[2,4]", conf: str = ""
    ) -> PipelineUnderTest:
        """Write the project's files."""
        prefix = f"crash-{uuid4().hex[:8]}"
        folder.mkdir(parents=True, exist_ok=True)
        declared = dedent(_DECLARED).format(prefix=prefix, delivery=delivery)
        (folder / "flows.py").write_text(declared)
        settings = dedent(_SETTINGS).format(prefix=prefix, data=data, master=master)
        (folder / "penstock.toml").write_text(settings + conf)
        return cls(folder=folder, data=data, prefix=prefix)

    def topic(self, name: str) -> str:
        """Return the name of a dataset in Kafka."""
        return f"{self.prefix}-{name}"
