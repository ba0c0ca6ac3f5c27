"""Processes that hold leases and do nothing else, to be raced, frozen and killed.

`python -m support.lease_holders hold BOOTSTRAP PIPELINE` claims a pipeline and has a child that
stands for Spark's JVM; `… race BOOTSTRAP` acquires and releases a lease for each line of its input.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from penstock.control import Claim, Claimant, PipelineRunningError
from penstock.control.holders import this_process
from penstock.control.leases import Lease
from penstock.control.status_records import STATUS_TOPIC
from penstock.kafka import Connection
from penstock.kafka.tables import KafkaTable
from penstock.names import PipelineName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control import LeaseLostError

TESTS = Path(__file__).parents[1]
JVM = "import sys; sys.stdin.read()"


@dataclass
class HolderProcess:
    """A process of this module, which answers each line with a line."""

    process: subprocess.Popen[str]

    def told(self) -> list[str]:
        """Return the words of the next line that it writes."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def tell(self, line: str) -> None:
        """Write a line to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()


@contextmanager
def holder_process(*arguments: str) -> Iterator[HolderProcess]:
    """Run this module with `arguments` while the block runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "support.lease_holders", *arguments],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield HolderProcess(process)
        finally:
            process.kill()


def hold(connection: Connection, pipeline: PipelineName) -> None:
    """Hold the lease until the end of the input, or until it is lost: then raise why."""
    over = Event()
    with subprocess.Popen([sys.executable, "-c", JVM], stdin=subprocess.PIPE) as jvm:

        def give_up(_error: LeaseLostError) -> None:
            jvm.kill()
            over.set()

        claimant = Claimant(pipeline=pipeline, profile="local", code_version="v1")
        with Claim(connection, claimant) as claim:
            claim.guard(give_up)
            claim.await_lease()
            answer(f"held {jvm.pid}")
            over.wait()
            jvm.wait()
            if claim.lost is not None:
                raise claim.lost


def race(connection: Connection) -> None:
    """For each pipeline on a line, try to acquire its lease and tell; the next line releases it."""
    with KafkaTable.open(connection, STATUS_TOPIC) as table:
        answer("ready")
        for line in sys.stdin:
            try:
                lease = Lease.acquire(
                    table,
                    PipelineName(line.strip()),
                    this_process("v1"),
                    on_lost=lambda error: answer(f"lost {error.message}"),
                )
            except PipelineRunningError as error:
                answer(f"refused {error.holder.pid}")
                sys.stdin.readline()
            else:
                answer(f"won {os.getpid()} {lease.epoch}")
                sys.stdin.readline()
                lease.release()
            answer("done")


def answer(line: str) -> None:
    """Write a line that the test reads."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    cluster = Connection(bootstrap=sys.argv[2])
    if sys.argv[1] == "race":
        race(cluster)
    else:
        hold(cluster, PipelineName(sys.argv[3]))
