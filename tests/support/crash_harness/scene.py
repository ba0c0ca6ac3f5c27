"""A pipeline under test from its first driver to the judgement."""

from __future__ import annotations

import json
import signal
import sys
import time
from threading import Event
from typing import TYPE_CHECKING

from support.commands import Outcome, Penstock
from support.crash_harness import judge
from support.crash_harness.drivers import Driver, Failpoints, send
from support.crash_harness.pipeline import FLOWS, OUTPUTS, PipelineUnderTest
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from pathlib import Path

    from support.crash_harness.judge import Output
    from support.crash_harness.sender import Sender

_RECOVER_SECONDS = 240.0
_QUIET_SECONDS = 90.0


class Scene:
    """A pipeline, and the lives of its driver one after the other."""

    def __init__(
        self,
        bootstrap: str,
        tested: PipelineUnderTest,
        failpoints: Failpoints,
        *,
        without: str = "",
    ) -> None:
        """Start nothing yet; `without` is what is taken out of the product (`failpoints/`)."""
        self.bootstrap, self.tested, self.failpoints = bootstrap, tested, failpoints
        self.notes: list[str] = []
        """What was not as expected, though the output may be right."""

        self._environment = {
            "PENSTOCK_BOOTSTRAP": bootstrap,
            **failpoints.environment(without=without),
        }
        self._begun = time.monotonic()
        self._lives: list[Driver] = []

    @property
    def driver(self) -> Driver:
        """The one that lives, or the last that did."""
        return self._lives[-1]

    def tell(self, line: str) -> None:
        """Write a line with the time since the beginning."""
        passed = time.monotonic() - self._begun
        sys.stdout.write(f"{passed:7.1f} s  {line}\n")
        sys.stdout.flush()

    def note(self, line: str) -> None:
        """Tell something that the end is to show again."""
        self.notes.append(line)
        self.tell(f"  ! {line}")

    def start(self, *, waits: bool = True) -> None:
        """Start the next driver."""
        life = Driver(self.tested, self.failpoints, self._environment, len(self._lives) + 1)
        self._lives.append(life)
        if waits:
            life.await_flows()

    def ensure_driver(self) -> None:
        """Start the driver if none lives."""
        if not self.driver.is_alive:
            self.start()

    def recover(self) -> None:
        """Return when each flow has finished a batch; start the driver again if it has ended."""
        for _ in range(4):
            self.ensure_driver()
            if self.driver.await_batches(_RECOVER_SECONDS):
                return
            if self.driver.is_alive:
                self.note(f"some flow finished no batch within {_RECOVER_SECONDS:.0f} s: killed")
                self.driver.kill(jvm=True)
            else:
                self.note(f"the driver has ended by itself: {self._last_error()}")
        raise AssertionError("the pipeline does not come back")  # noqa: EM101, TRY003

    def await_idle(self) -> None:
        """Return when each flow has said that there is nothing to read."""
        for _ in range(4):
            if self.driver.await_idle(_QUIET_SECONDS):
                return
            if not self.driver.is_alive:
                self.note(f"the driver has ended by itself: {self._last_error()}")
                self.start()
        raise AssertionError("the pipeline does not come to the end")  # noqa: EM101, TRY003

    def undo_commits(self) -> list[str]:
        """Make checkpoints as they are when Spark dies between its sink and its commit.

        Returns:
            The flows whose last batch was committed, and is not any more.
        """
        undone = []
        for flow in FLOWS:
            folder = self.tested.data / "checkpoints" / self.tested.prefix / flow
            planned, committed = (_last(folder / name) for name in ("offsets", "commits"))
            if planned == committed:
                (folder / "commits" / str(committed)).unlink()
                (folder / "commits" / f".{committed}.crc").unlink(missing_ok=True)
                undone.append(flow)
        return undone

    def audit(self) -> Outcome:
        """Return what `penstock audit` says of the pipeline, which is another judge."""
        penstock = Penstock(self.tested.folder, self._environment)
        return penstock("audit", self.tested.prefix, timeout_seconds=120)

    def close(self) -> None:
        """End whatever is left of all drivers."""
        for life in self._lives:
            life.kill(jvm=True)
            for process in life.seen:
                send(process, signal.SIGKILL)

    def _last_error(self) -> str:
        errors = [item["error"] for item in self.driver.events if item.get("error")]
        return json.dumps(errors[-1]) if errors else self.driver.err.read_text()[-300:]


def finished(scene: Scene, sender: Sender) -> tuple[Output, Output]:
    """Let the pipeline read all that was sent, stop it, and return what it must write and has."""
    sender.finish()
    wanted = judge.expected(sender.numbers, sender.answers)
    scene.tell(f"{len(sender.numbers)} numbers and {len(sender.answers)} answers were sent")
    scene.await_idle()
    sender.close_windows()
    found = judge.found(scene.bootstrap, scene.tested)
    last, changed = found.count, time.monotonic()
    while judge.missing(wanted, found) and time.monotonic() < changed + _QUIET_SECONDS:
        Event().wait(1)
        found = judge.found(scene.bootstrap, scene.tested)
        if found.count != last:
            last, changed = found.count, time.monotonic()
    scene.driver.stop()
    found = judge.found(scene.bootstrap, scene.tested)
    scene.tell(f"{found.count} records came out, {wanted.count} must; {_undone(scene)} undone")
    return wanted, found


def _last(folder: Path) -> int:
    return max(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def _undone(scene: Scene) -> int:
    """Return how many records were sent whose transactions were not committed."""
    return sum(
        len(topic_contents(scene.bootstrap, topic, isolation="read_uncommitted"))
        - len(topic_contents(scene.bootstrap, topic))
        for topic in map(scene.tested.topic, OUTPUTS.values())
    )
