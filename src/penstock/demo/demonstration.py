"""The demonstration: a platform, the fraud pipeline, traffic for a while, and a check.

Everything is real and lives in a temporary folder. The generator counts what it sends by itself;
the check compares that with what the pipeline has written.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from penstock.demo.checking import Check, checks, latency_percentiles, read_output
from penstock.demo.generator import Tally, Traffic, generate, utc_now
from penstock.engine.events import FlowLag, FlowStarted, FlowStopped
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from datetime import datetime

    from penstock.control import RunOptions
    from penstock.engine.events import PipelineEvent
    from penstock.names import FlowName


_SETTLED_SECONDS, _PAUSE_SECONDS = 60.0, 1.0
"""How long flows that go on may take to write dead letters, which come after their batch."""

_KEPT_RATE_SHARE = 0.1
_KEPT_SECONDS = 10 * 365 * 86_400
"""What is kept goes on for hours, and all of it stays on disk: a tenth of the traffic will do."""


class DemoFailedError(PenstockError):
    """What came out is not what went in."""

    code = "PEN-980"

    def __init__(self, failed: tuple[Check, ...]) -> None:
        listed = "; ".join(
            f"{check.what}: expected {check.expected:,}, found {check.found:,}" for check in failed
        )
        super().__init__(
            f"the check does not hold: {listed}",
            hint="please report it, with what the demonstration printed",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the demonstration has shown."""

    tally: Tally
    checks: tuple[Check, ...]
    latency_seconds: Mapping[int, float]
    """From a line's arrival in Kafka to its hit's, by percentile."""

    @property
    def failed(self) -> tuple[Check, ...]:
        """The comparisons that do not hold."""
        return tuple(check for check in self.checks if not check.holds)


def project_folder() -> Path:
    """Return the fraud project: beside this file when installed, in `examples` in a checkout."""
    installed = Path(__file__).parent / "fraud"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "examples" / "fraud"


class Conductor:
    """Sends traffic once all flows run, and ends that once they have read all of it."""

    def __init__(
        self,
        options: RunOptions,
        traffic: Traffic,
        stop: Callable[[], None],
        *,
        keep: Callable[[Tally], None] | None = None,
    ) -> None:
        """Listen to the events of a run.

        Args:
            options: what is run.
            traffic: what to send.
            stop: stops the run.
            keep: called instead when all has been read, in another thread, with what was sent;
                afterwards a part of the traffic goes on until the run ends.
        """
        self._options, self._traffic, self._stop, self._keep = options, traffic, stop, keep
        self._keeping: Future[None] | None = None
        self._waiting = {flow.name for flow in options.flows}
        self._behind = set(self._waiting)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="penstock-traffic")
        self._sending: Future[Tally] | None = None
        self._sent_at: datetime | None = None
        self._over = Event()

    def hear(self, event: PipelineEvent) -> None:
        """Take an event of the run."""
        match event:
            case FlowStarted(flow=flow):
                self._waiting.discard(flow)
                if not self._waiting and self._sending is None:
                    self._sending = self._pool.submit(self._send)
            case FlowLag(flow=flow, at=at, records=0) if self._sent_at and at > self._sent_at:
                self._catch_up(flow)
            case FlowStopped():
                self._over.set()
            case _:
                pass

    def tally(self) -> Tally | None:
        """Return what was sent once the run has ended; None when it was ended before all was."""
        if self._sending is None or self._behind:
            return None
        return self._sending.result()

    def close(self) -> None:
        """End the traffic if it still goes on; raise what `keep` has raised."""
        self._over.set()
        self._pool.shutdown()
        if self._keeping is not None:
            self._keeping.result()

    def _send(self) -> Tally:
        try:
            return generate(self._options.connection, self._traffic, stop=self._over)
        finally:
            self._sent_at = utc_now()

    def _catch_up(self, flow: FlowName) -> None:
        if self._behind:
            self._behind.discard(flow)
            if self._behind:
                return
            if self._keep is None:
                self._stop()
            else:
                self._keeping = self._pool.submit(self._go_on, self._keep)

    def _go_on(self, keep: Callable[[Tally], None]) -> None:
        sent = self.tally()
        assert sent is not None  # noqa: S101 - all has been read
        try:
            keep(sent)
        except BaseException:
            self._stop()
            raise
        rate = self._traffic.rate * _KEPT_RATE_SHARE
        traffic = replace(self._traffic, rate=rate, duration_seconds=_KEPT_SECONDS)
        generate(self._options.connection, traffic, stop=self._over)


def examine(options: RunOptions, tally: Tally) -> Result:
    """Return how what the flows have written compares with what was sent."""
    output = read_output(
        options.connection,
        dead_letters=options.pipeline.dead_letters,
        table=Path(options.settings.spark.warehouse) / "weblog",
    )
    return Result(
        tally=tally,
        checks=checks(tally, output, flows=options.pipeline.flow_names()),
        latency_seconds=latency_percentiles(output.hits),
    )


def examine_running(options: RunOptions, tally: Tally) -> Result:
    """Return the same of a run that goes on, once it has settled."""
    deadline = time.monotonic() + _SETTLED_SECONDS
    while (result := examine(options, tally)).failed and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    return result
