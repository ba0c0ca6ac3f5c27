"""Drivers killed at random moments while records come in, and what must be true afterwards."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING

from penstock import Producer
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from penstock.kafka import Connection
    from support.projects_to_run import Project

FLOWS = """
    import penstock as ps
    from pyspark.sql import DataFrame, functions as F

    ps.topic(
        "numbers",
        kafka_name="{prefix}-numbers",
        partitions=3,
        value=ps.json("id bigint, at timestamp"),
        event_time="at",
        allowed_lateness="1 hour",
        most_per_trigger=1000,
    )
    ps.topic("copies", kafka_name="{prefix}-copies", partitions=3, value=ps.json("id bigint"))
    ps.topic(
        "sums",
        kafka_name="{prefix}-sums",
        partitions=3,
        key=("remainder", "start"),
        key_format=ps.json("remainder bigint, start timestamp"),
        compacted=True,
        value=ps.json("remainder bigint, start timestamp, total bigint, count bigint"),
    )


    @ps.flow(into="copies", delivery="{delivery}")
    def copy(numbers: DataFrame) -> DataFrame:
        return numbers.select("id")


    @ps.flow(into="sums", output_mode="update", delivery="{delivery}")
    def add_up(numbers: DataFrame) -> DataFrame:
        window = F.window("at", "10 seconds")
        by_window = numbers.groupBy((F.col("id") % 7).alias("remainder"), window.alias("window"))
        sums = by_window.agg(F.sum("id").alias("total"), F.count("*").alias("count"))
        return sums.select("remainder", F.col("window.start").alias("start"), "total", "count")
"""

BY_CHANCE = FLOWS.replace(
    '(into="copies", ', '(into="copies", nondeterministic="persist", '
).replace('return numbers.select("id")\n', 'return numbers.select("id").repartition(3, F.rand())\n')
"""The copies take another place in each run of a batch, which is kept for that reason."""

_RATE = 200
# One in five dies while it starts, the others within their first batches.
_EARLY_SHARE, _EARLY_SECONDS, _AT_WORK_SECONDS = 0.2, 6.0, 8.0
_START_SECONDS, _FINISH_SECONDS = 300.0, 1800.0
_BROKEN_EVERY = 97


@dataclass(frozen=True, slots=True)
class Input:
    """What was sent and acknowledged."""

    ids: frozenset[int]
    sums: dict[tuple[int, int], tuple[int, int]]
    """Total and count by remainder and start of the window, in seconds since 1970."""

    broken: int


class Numbers:
    """Sends so many numbers a second until it is stopped, some broken, and remembers them."""

    def __init__(self, connection: Connection, topic: str, *, rate: int = _RATE) -> None:
        self._connection, self._topic, self._rate = connection, topic, rate
        self._ids: set[int] = set()
        self._totals: Counter[tuple[int, int]] = Counter()
        self._counts: Counter[tuple[int, int]] = Counter()
        self._broken = 0
        self._stop = Event()
        self._thread = Thread(target=self._send, name="numbers")

    def __enter__(self) -> Numbers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def sent(self) -> Input:
        sums = {key: (self._totals[key], count) for key, count in self._counts.items()}
        return Input(frozenset(self._ids), sums, self._broken)

    def _send(self) -> None:
        # Leaving the block waits until every record is acknowledged, or raises.
        with Producer(self._connection) as producer:
            number = 0
            while not self._stop.wait(1 / self._rate):
                number += 1
                if number % _BROKEN_EVERY == 0:
                    self._broken += 1
                    producer.send(self._topic, b'{"id":')
                    continue
                second = 1_700_000_000 + number // 10
                self._remember(number, second)
                producer.send(self._topic, json.dumps({"id": number, "at": _text(second)}))

    def _remember(self, number: int, second: int) -> None:
        self._ids.add(number)
        key = (number % 7, second - second % 10)
        self._totals[key] += number
        self._counts[key] += 1


def kill_again_and_again(project: Project, *, seed: int, rounds: int) -> list[str]:
    """Start the pipeline and kill it with `kill -9`, `rounds` times; return when that was."""
    dice = Random(seed)  # noqa: S311 - moments, not secrets
    return [_kill_once(project, dice) for _ in range(rounds)]


def _kill_once(project: Project, dice: Random) -> str:
    is_early = dice.random() < _EARLY_SHARE
    seconds = dice.uniform(0, _EARLY_SECONDS if is_early else _AT_WORK_SECONDS)
    with project.running("--json") as run:
        if not is_early:
            run.await_event("flow_started", flow="copy", within_seconds=_START_SECONDS)
            run.await_event("flow_started", flow="add_up", within_seconds=_START_SECONDS)
        Event().wait(seconds)  # the one wait that is for time: the moment is the test
        assert run.process.poll() is None, run.stderr
        run.process.kill()
    return f"{seconds:.1f} s after {'its start' if is_early else 'its flows started'}"


def finish(project: Project) -> None:
    """Let the pipeline read all that is left."""
    rest = project.penstock("run", "--once", timeout_seconds=_FINISH_SECONDS)
    assert rest.status == 0, rest.stderr


def copies(project: Project) -> Counter[int]:
    """Return how often each id has come out."""
    return Counter(project.ids("copies"))


def sums(project: Project) -> Counter[bytes | None]:
    """Return how often each sum has come out: those of a window differ from batch to batch."""
    records = topic_contents(project.bootstrap, f"{project.prefix}-sums")
    return Counter(record.value for record in records)


def last_sums(project: Project) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the last value of each window, as compaction would leave it."""
    found = {}
    for record in topic_contents(project.bootstrap, f"{project.prefix}-sums"):
        value = json.loads(record.value or b"")
        start = int(datetime.fromisoformat(value["start"]).timestamp())
        found[value["remainder"], start] = (value["total"], value["count"])
    return found


def letters(project: Project) -> list[str]:
    """Return the dead letters, in their alphabetical order and as often as they are there."""
    found = topic_contents(project.bootstrap, f"{project.prefix}.deadletters")
    return sorted(_decoded(record.value) for record in found)


def dead_letters(project: Project) -> Counter[str]:
    """Return how many dead letters each flow has."""
    found = topic_contents(project.bootstrap, f"{project.prefix}.deadletters")
    return Counter(_decoded(dict(record.headers)["penstock.flow"]) for record in found)


def _decoded(value: bytes | None) -> str:
    return (value or b"").decode()


def _text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()
