"""The driver under test, as a user would start it, and the processes below it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from support.commands import Penstock
from support.crash_harness.pipeline import FLOWS
from support.processes import is_alive
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.crash_harness.pipeline import PipelineUnderTest

START_SECONDS = 240.0
_FAILPOINTS = Path(__file__).with_name("failpoints")


class Failpoints:
    """The folder in which failpoints are armed, and in which processes tell that they got there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("armed", "claimed", "told"):
            (folder / name).mkdir(parents=True)

    def environment(self, *, without: str = "") -> dict[str, str]:
        """Return what processes need to have failpoints; `without`: what is taken out of them."""
        paths = [str(_FAILPOINTS), os.environ.get("PYTHONPATH", "")]
        return {
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "HARNESS_FOLDER": str(self.folder),
            "HARNESS_WITHOUT": without,
        }

    def arm(self, point: str, action: str, *, flow: str = "") -> None:
        """Let the next process that gets to `point` do `action`."""
        self.disarm(point)
        (self.folder / "told" / point).unlink(missing_ok=True)
        unready = self.folder / f"{point}.new"
        unready.write_text(json.dumps({"action": action, "flow": flow}))
        unready.rename(self.folder / "armed" / point)

    def disarm(self, point: str) -> None:
        """Let nothing happen at `point` any more."""
        (self.folder / "armed" / point).unlink(missing_ok=True)

    def pid_at(self, point: str) -> int | None:
        """Return which process got to `point`, once one has."""
        with suppress(FileNotFoundError):
            return int(json.loads((self.folder / "told" / point).read_text())["pid"])
        return None


class Driver:
    """One life of the driver."""

    def __init__(
        self,
        tested: PipelineUnderTest,
        failpoints: Failpoints,
        environment: dict[str, str],
        number: int,
    ) -> None:
        """Start it; returns at once."""
        self._failpoints = failpoints
        self.out = tested.folder / f"stdout-{number}"
        self.err = tested.folder / f"stderr-{number}"
        penstock = Penstock(tested.folder, environment)
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = penstock.start("run", "--json", stdout=out, stderr=err)
        self.seen: list[psutil.Process] = []
        """What was below it when its flows had started."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it has told so far."""
        whole, _, _ = self.out.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def await_flows(self, within_seconds: float = START_SECONDS) -> None:
        """Wait until all flows run, or it has ended."""
        self._await(lambda: set(FLOWS) <= self._told("flow_started").keys(), within_seconds)
        if self.is_alive:
            self.seen += self._below()
            pids = [*(process.pid for process in self.jvms), self.process.pid]
            (self._failpoints.folder / "driver.json").write_text(json.dumps(pids))

    def await_batches(self, within_seconds: float) -> bool:
        """Wait until each flow has finished a batch from now on; return whether they have."""
        before = self._told("batch_finished")

        def done() -> bool:
            now = self._told("batch_finished")
            return all(now[flow] > before[flow] for flow in FLOWS)

        return self._await(done, within_seconds) and self.is_alive

    def await_idle(self, within_seconds: float) -> bool:
        """Wait until each flow has said from now on that there is nothing to read."""
        before = self._told("flow_idle")

        def done() -> bool:
            now = self._told("flow_idle")
            return all(now[flow] > before[flow] for flow in FLOWS)

        return self._await(done, within_seconds) and self.is_alive

    @property
    def jvms(self) -> list[psutil.Process]:
        """Spark's JVM."""
        return [item for item in self._below() if is_java(item)]

    @property
    def workers(self) -> list[psutil.Process]:
        """Spark's Python workers: what its daemons have forked."""
        found = []
        for process in self._below():
            with suppress(psutil.Error):
                parent = process.parent()
                if parent and any("daemon" in word for word in parent.cmdline()):
                    found.append(process)
        return found

    def kill(self, *, jvm: bool) -> None:
        """End it with `kill -9`; without its JVM, that one notices by itself."""
        for process in self.jvms if jvm else []:
            send(process, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def freeze(self) -> list[psutil.Process]:
        """Stop it and all below it, and return what is to be woken up later."""
        frozen = [psutil.Process(self.process.pid), *self._below()]
        for process in frozen:
            send(process, signal.SIGSTOP)
        return frozen

    def stop(self) -> int:
        """Do what Ctrl-C does, and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=180)

    def _below(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def _told(self, event: str) -> Counter[str]:
        return Counter(item["flow"] for item in self.events if item.get("event") == event)

    def _await(self, condition: Callable[[], bool], within_seconds: float) -> bool:
        deadline = time.monotonic() + within_seconds
        while self.is_alive and not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True


def is_java(process: psutil.Process) -> bool:
    """Whether it is a JVM; what Spark has started for a moment may be gone."""
    with suppress(psutil.Error):
        return process.name() == "java"
    return False


def send(process: psutil.Process, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(psutil.Error):
        process.send_signal(number)


def await_end(processes: Iterable[psutil.Process], within_seconds: float) -> None:
    """Wait until none of these processes lives."""
    eventually(
        lambda: not any(is_alive(process) for process in processes), within_seconds=within_seconds
    )
