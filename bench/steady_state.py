"""Measures a streaming program from outside: what its output topic and its processes show.

The program runs in a process of its own and ends by itself. Steady state is the slope of the
output over time without start-up: from the moment when a share of the output was there, mostly a
fifth, to the moment when all of it was. Both sides of a comparison are measured in the same way,
whatever they are made of.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
from bench.topics import partitions_of, record_count

from penstock.kafka import Admin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import Connection
    from penstock.names import TopicName

_SAMPLE_SECONDS = 0.1
_WARM_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Sample:
    """How many records the output had, some seconds after the start."""

    seconds: float
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one run of a program took; rates are those of input records."""

    input_records: int
    output_records: int
    seconds: float
    first_output_seconds: float
    steady_rate: float
    cpu_seconds: float
    peak_memory_bytes: int

    @property
    def whole_rate(self) -> float:
        """Input records per second from the command to its end, start-up included."""
        return self.input_records / self.seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        """Processor time of the whole process tree for a million input records."""
        return self.cpu_seconds / self.input_records * 1_000_000

    def __str__(self) -> str:
        """Return the line that a benchmark prints."""
        return (
            f"steady {self.steady_rate:>10,.0f} records/s   whole {self.whole_rate:>10,.0f}   "
            f"cpu {self.cpu_seconds_per_million:5.2f} s/million   "
            f"first output {self.first_output_seconds:5.1f} s   "
            f"memory {self.peak_memory_bytes / 1e9:.1f} GB"
        )


def measure(
    command: Sequence[str],
    connection: Connection,
    *,
    output: TopicName,
    input_records: int,
    warm_share: float = _WARM_SHARE,
) -> Measurement:
    """Run `command` to its end and return what it took.

    Args:
        command: reads a topic that holds `input_records` and ends when it has read all of them.
        connection: how to reach the cluster.
        output: the topic it writes; what was there before is not counted.
        input_records: how many the command will read.
        warm_share: how much of the output counts as start-up.
    """
    with Admin(connection) as admin:
        partitions = partitions_of(admin, output)
        before = record_count(admin, partitions)
        started = time.monotonic()
        samples, usage = [Sample(0.0, 0)], _Usage()
        with subprocess.Popen(command) as process:
            while process.poll() is None:
                usage.look_at(process.pid)
                records = record_count(admin, partitions) - before
                samples.append(Sample(time.monotonic() - started, records))
                time.sleep(_SAMPLE_SECONDS)
        samples.append(Sample(time.monotonic() - started, record_count(admin, partitions) - before))
    if process.returncode != 0:
        sys.exit(f"`{' '.join(command)}` ended with status {process.returncode}")
    return _measurement(samples, usage, input_records, warm_share)


def steady_rate(samples: Sequence[Sample], input_records: int, warm_share: float) -> float:
    """Return the input records per second between a share of the output and all of it."""
    total = samples[-1].records
    warm = next(s for s in samples if s.records >= total * warm_share)
    full = next(s for s in samples if s.records >= total)
    if full.seconds <= warm.seconds:
        sys.exit("the output came all at once: more records or smaller batches are needed")
    share = (full.records - warm.records) / total
    return share * input_records / (full.seconds - warm.seconds)


def _measurement(
    samples: Sequence[Sample], usage: _Usage, input_records: int, warm_share: float
) -> Measurement:
    if samples[-1].records == 0:
        sys.exit("the command wrote nothing")
    return Measurement(
        input_records=input_records,
        output_records=samples[-1].records,
        seconds=samples[-1].seconds,
        first_output_seconds=next(s.seconds for s in samples if s.records > 0),
        steady_rate=steady_rate(samples, input_records, warm_share),
        cpu_seconds=usage.cpu_seconds,
        peak_memory_bytes=usage.peak_memory_bytes,
    )


class _Usage:
    """Processor time and memory of a process and all below it, also of those that have ended."""

    def __init__(self) -> None:
        self._cpu_seconds: dict[int, float] = {}
        self.peak_memory_bytes = 0

    @property
    def cpu_seconds(self) -> float:
        """The last known time of every process, added up."""
        return sum(self._cpu_seconds.values())

    def look_at(self, pid: int) -> None:
        """Take in what the tree below `pid` has used so far."""
        memory = 0
        try:
            root = psutil.Process(pid)
            for process in (root, *root.children(recursive=True)):
                times = process.cpu_times()
                self._cpu_seconds[process.pid] = times.user + times.system
                memory += process.memory_info().rss
        except psutil.NoSuchProcess:
            return
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory)
