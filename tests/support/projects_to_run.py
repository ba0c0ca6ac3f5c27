"""Small projects on topics of their own, and `penstock run` on them as a user would start it."""

from __future__ import annotations

import json
import signal
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.topic_contents import topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Outcome, Penstock

LONG = 110.0
"""Seconds for whatever starts Spark: a busy machine takes many times the usual."""

CHAIN = """
    import penstock as ps
    from pyspark.sql import DataFrame

    ps.topic("orders", kafka_name="{prefix}-orders", partitions=2, value=ps.json("id bigint"))
    ps.topic("even", kafka_name="{prefix}-even", partitions=2, key="id", value=ps.json("id bigint"))
    ps.topic("tens", kafka_name="{prefix}-tens", partitions=2, key="id", value=ps.json("id bigint"))


    @ps.flow(into="even")
    def keep_even(orders: DataFrame) -> DataFrame:
        return orders.where("id % 2 = 0")


    @ps.flow(into="tens")
    def keep_tens(even: DataFrame) -> DataFrame:
        return even.where("id % 10 = 0")
"""
POISONED = """
    import penstock as ps
    from pyspark.sql import DataFrame, functions as F

    ps.topic("orders", kafka_name="{prefix}-orders", partitions=2, value=ps.json("id bigint"))
    ps.topic("even", kafka_name="{prefix}-even", partitions=2, key="id", value=ps.json("id bigint"))
    ps.topic("checked", kafka_name="{prefix}-checked", value=ps.json("id bigint"))


    def checked(number: int) -> int:
        if number == 13:
            raise ValueError("thirteen")
        return number


    @ps.flow(into="even")
    def keep_even(orders: DataFrame) -> DataFrame:
        return orders.where("id % 2 = 0")


    @ps.flow(into="checked")
    def check(orders: DataFrame) -> DataFrame:
        return orders.select(F.udf(checked, "bigint")("id").alias("id"))
"""

SLOW = """
    import time

    import penstock as ps
    from pyspark.sql import DataFrame, functions as F

    ps.topic("orders", kafka_name="{prefix}-orders", partitions=2, value=ps.json("id bigint"))
    ps.topic("even", kafka_name="{prefix}-even", partitions=2, key="id", value=ps.json("id bigint"))


    def slowly(number: int) -> int:
        time.sleep(3)
        return number


    @ps.flow(into="even")
    def keep_even(orders: DataFrame) -> DataFrame:
        return orders.select(F.udf(slowly, "bigint")("id").alias("id")).where("id % 2 = 0")
"""


@dataclass
class Project:
    """A project in a folder, on topics with a prefix of its own."""

    folder: Path
    bootstrap: str
    penstock: Penstock
    prefix: str = field(default_factory=lambda: f"run-{uuid4().hex[:12]}")

    def declare(self, flows: str) -> None:
        """Write the project's files."""
        (self.folder / "flows.py").write_text(dedent(flows).format(prefix=self.prefix))
        (self.folder / "penstock.toml").write_text(
            f'[pipeline]\nname = "{self.prefix}"\n'
            '[spark]\nmaster = "local[2,4]"\ndriver_memory_mb = 768\n'
        )

    def run(self, *arguments: str) -> Outcome:
        """Run the pipeline until it ends by itself."""
        return self.penstock("run", *arguments, timeout_seconds=LONG)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[Run]:
        """Run the pipeline while the block runs; what is left of it then is killed."""
        out, err = self.folder / "stdout", self.folder / "stderr"
        with out.open("w") as stdout, err.open("w") as stderr:
            process = self.penstock.start("run", *arguments, stdout=stdout, stderr=stderr)
        try:
            yield Run(process, out, err)
        finally:
            process.kill()
            process.wait()

    def ids(self, topic: str) -> list[int]:
        """Return the ids in an output topic, in order and as often as they are there."""
        return sorted(value["id"] for value in self.values(topic))

    def values(self, topic: str) -> list[dict[str, Any]]:
        """Return the values in an output topic."""
        found = topic_contents(self.bootstrap, f"{self.prefix}-{topic}")
        return [json.loads(record.value or b"") for record in found]

    def has(self, topic: str, ids: set[int]) -> bool:
        """Whether these ids, at least, have come out."""
        return ids <= set(self.ids(topic))


@dataclass
class Run:
    """A `penstock run` under way."""

    process: subprocess.Popen[str]
    out: Path
    err: Path

    @property
    def stdout(self) -> str:
        return self.out.read_text()

    @property
    def stderr(self) -> str:
        return self.err.read_text()

    @property
    def events(self) -> list[dict[str, Any]]:
        """What `--json` has written so far; every line must be JSON."""
        whole, _, _ = self.stdout.rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def told(self, event: str, **fields: object) -> bool:
        """Whether `--json` has told such an event."""
        return any({"event": event, **fields}.items() <= item.items() for item in self.events)

    def await_event(self, event: str, *, within_seconds: float = LONG, **fields: object) -> None:
        """Wait until `--json` has told such an event."""
        eventually(lambda: self.told(event, **fields), within_seconds=within_seconds)

    def await_batches(self, count: int, *flows: str, within_seconds: float = LONG) -> None:
        """Wait until each of these flows has finished so many batches from now on."""
        before = self._batches()

        def done() -> bool:
            now = self._batches()
            return all(now[flow] - before[flow] >= count for flow in flows)

        eventually(done, within_seconds=within_seconds)

    def _batches(self) -> Counter[str]:
        return Counter(item["flow"] for item in self.events if item["event"] == "batch_finished")

    def interrupt(self) -> int:
        """Do what Ctrl-C does, and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=LONG)
