"""What `penstock run` writes: a live view, plain lines, or JSON lines; and the summary.

The live view and the lines go to stdout, as they are what the command is for; steps of the start
and errors go to stderr.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

import click
from rich.console import Console

from penstock.cli.live import LiveView, compact_number, compact_seconds
from penstock.cli.rendering import progress, table
from penstock.cli.run_events import held, json_line, sentence
from penstock.control import STOP_TIMEOUT_SECONDS, PipelineStatus
from penstock.engine.events import BatchFinished, FlowIdle, FlowLag

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from penstock.cli.live import Heading
    from penstock.control import FlowStatus
    from penstock.engine.events import PipelineEvent
    from penstock.events import Emit, Event
    from penstock.names import FlowName

LINE_EVERY_SECONDS = 5.0

STOPPING = (
    f"stopping after the running batches, {STOP_TIMEOUT_SECONDS:.0f} s at most; Ctrl-C again: now"
)


class RunOutput(Protocol):
    """Shows a run, once the first flow has something to say."""

    def notify(self, event: PipelineEvent) -> None:
        """Show what happened to a flow."""

    def say_stopping(self) -> None:
        """Show that a wish to stop was heard."""

    def close(self) -> None:
        """Show the end."""


class Steps:
    """The steps of the start, on stderr, until the first flow has something to say."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._emit: Emit | None = self._stack.enter_context(progress())

    def emit(self, event: Event) -> None:
        """Show a step, unless that is over."""
        if self._emit is not None:
            self._emit(event)

    def close(self) -> None:
        """Remove the line of the running step; safe to repeat."""
        self._emit = None
        self._stack.close()


class JsonOutput:
    """Every event as a line of JSON; nothing else on stdout."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def notify(self, event: PipelineEvent) -> None:
        """Write a line."""
        self._steps.close()
        click.echo(json_line(event))

    def say_stopping(self) -> None:
        """Tell people, not programs."""
        click.echo(STOPPING, err=True)

    def close(self) -> None:
        """Remove the line of a running step."""
        self._steps.close()


class PlainOutput:
    """A line for each notable event, and a line of progress per flow now and then."""

    def __init__(
        self,
        steps: Steps,
        status: PipelineStatus,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._steps, self._status, self._clock = steps, status, clock
        self._next_line: dict[FlowName, float] = {}
        self._held: dict[FlowName, datetime | None] = {}
        self._told: dict[FlowName, BatchFinished | None] = {}
        self._has_begun = False

    def notify(self, event: PipelineEvent) -> None:
        """Write a line, if there is something to tell."""
        self._steps.close()
        self._has_begun = True
        self._status.apply(event)
        told = sentence(event)
        if told is not None:
            click.echo(_stamped(event.at, told))
        elif isinstance(event, BatchFinished | FlowIdle | FlowLag):
            self._tell_progress(self._status.flows[event.flow], event.at)
        if isinstance(event, FlowLag):
            self._tell_held(event)

    def say_stopping(self) -> None:
        """Write that a wish to stop was heard."""
        click.echo(STOPPING, err=True)

    def close(self) -> None:
        """Write the summary, unless nothing has ever happened."""
        self._steps.close()
        if self._has_begun:
            summary(self._status)

    def _tell_held(self, lag: FlowLag) -> None:
        """Write once that a transaction holds a flow up: it is idle, and seems to have all."""
        waits = held(lag, lag.at)
        if waits and self._held.get(lag.flow) != lag.held_since:
            self._held[lag.flow] = lag.held_since
            click.echo(_stamped(lag.at, f"{lag.flow}: {waits}"))

    def _tell_progress(self, flow: FlowStatus, at: datetime) -> None:
        """Write how a flow does, unless that was done a moment ago or nothing has changed."""
        is_news = flow.last_batch is not self._told.get(flow.flow)
        if is_news and self._clock() >= self._next_line.get(flow.flow, 0):
            self._next_line[flow.flow] = self._clock() + LINE_EVERY_SECONDS
            self._told[flow.flow] = flow.last_batch
            click.echo(_stamped(at, f"{flow.flow}: {progress_words(flow, at)}"))


class LiveOutput:
    """The live view, from the first event on, and the summary in its place."""

    def __init__(
        self, steps: Steps, heading: Callable[[], Heading], status: PipelineStatus
    ) -> None:
        self._steps, self._heading, self._status = steps, heading, status
        self._console = Console()
        self._view: LiveView | None = None

    def notify(self, event: PipelineEvent) -> None:
        """Show an event with the next redraw."""
        self._opened().show(event)

    def say_stopping(self) -> None:
        """Show that a wish to stop was heard."""
        self._opened().say(STOPPING)

    def close(self) -> None:
        """Leave the latest events and the summary on the screen."""
        self._steps.close()
        if self._view is not None:
            self._view.close()
            for line in self._view.events:
                self._console.print(line)
            summary(self._status)

    def _opened(self) -> LiveView:
        if self._view is None:
            self._steps.close()
            self._view = LiveView(self._console, self._heading(), self._status)
            self._view.open()
        return self._view


def progress_words(flow: FlowStatus, at: datetime) -> str:
    """Return how a flow does in one line of text."""
    rates, batch, lag = flow.rates(at), flow.last_batch, flow.lag
    parts = [
        f"{compact_number(rates.records_in)} in/s",
        f"{compact_number(rates.records_out)} out/s",
    ]
    if batch is not None:
        parts.append(f"batch {batch.batch_id} in {compact_seconds(batch.seconds)}")
    if lag is not None:
        behind = compact_seconds(lag.seconds)
        parts.append(f"lag {compact_number(lag.records)} records, {behind}")
    delay = flow.watermark_delay_seconds()
    if delay is not None:
        parts.append(f"watermark {compact_seconds(delay)} behind")
    if flow.totals.dead_letters:
        parts.append(f"{flow.totals.dead_letters:,} dead letters")
    if flow.totals.duplicates:
        parts.append(f"{flow.totals.duplicates:,} duplicates")
    return ", ".join(parts)


def summary(status: PipelineStatus) -> None:
    """Print what each flow has done in this run."""
    columns = ("flow", "state", "in", "out", "dead", "duplicates", "batches", "seconds", "restarts")
    table(
        columns,
        [
            (
                name,
                str(flow.state),
                flow.totals.records_in,
                flow.totals.records_out,
                flow.totals.dead_letters,
                flow.totals.duplicates,
                flow.totals.batches,
                round(flow.totals.seconds, 1),
                flow.totals.restarts,
            )
            for name, flow in status.flows.items()
        ],
    )


def _stamped(at: datetime, words: str) -> str:
    return f"{at.astimezone():%H:%M:%S} {words}"
