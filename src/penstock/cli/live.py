"""The live view of `penstock run`: a table of flows that is redrawn, and the latest events below.

It is drawn from the status alone, by a thread of its own at most four times a second, so that no
flood of events makes it flicker or slows a pipeline down. It fits into 80 columns.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.run_events import held, sentence
from penstock.control import FlowState, PipelineStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from penstock.control import FlowStatus
    from penstock.engine.events import PipelineEvent

REDRAWS_PER_SECOND = 4
EVENTS_SHOWN = 6

_COLUMNS = ("in/s", "out/s", "batch", "lag", "behind", "delay", "rows", "dead")
_DUPLICATES = "dups"
_OTHER_COLUMNS_WIDTH = 60  # all but the name of the flow, with the gaps between

_STYLES = {
    FlowState.RUNNING: "green",
    FlowState.IDLE: "green",
    FlowState.FINISHED: "green",
    FlowState.RESTARTING: "yellow",
    FlowState.NO_KAFKA: "yellow",
    FlowState.FAILED: "bold red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What the view says about the run as a whole."""

    pipeline: str
    profile: str
    cluster: str
    since: datetime
    spark_ui: str | None = None

    def text(self, now: datetime) -> str:
        """Return the lines above the table."""
        running = compact_seconds((now - self.since).total_seconds())
        first = f"{self.pipeline} on {self.profile} ({self.cluster}) since "
        first += f"{self.since.astimezone():%H:%M:%S}, {running}"
        return first + (f"\nSpark UI: {self.spark_ui}" if self.spark_ui else "")


class LiveView:
    """Shows a run on a terminal."""

    def __init__(
        self,
        console: Console,
        heading: Heading,
        status: PipelineStatus,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._console, self._clock = console, clock
        self._heading, self._status = heading, status
        self._events: deque[Text] = deque(maxlen=EVENTS_SHOWN)
        self._lock = Lock()
        self._live = Live(
            get_renderable=self.render,
            console=console,
            refresh_per_second=REDRAWS_PER_SECOND,
            transient=True,
        )

    def open(self) -> None:
        """Begin to draw."""
        self._live.start()

    def close(self) -> None:
        """Remove the view."""
        self._live.stop()

    def show(self, event: PipelineEvent) -> None:
        """Take in an event; it is on the screen with the next redraw."""
        with self._lock:
            self._status.apply(event)
            told = sentence(event)
            if told is not None:
                self._events.append(_line(event.at, told))

    def say(self, words: str) -> None:
        """Show words of our own among the events."""
        with self._lock:
            self._events.append(_line(self._clock(), words))

    @property
    def events(self) -> tuple[Text, ...]:
        """The latest events, oldest first."""
        with self._lock:
            return tuple(self._events)

    def render(self) -> RenderableType:
        """Return the picture of this moment."""
        with self._lock:
            now = self._clock()
            heading = Text(self._heading.text(now), style="bold", overflow="ellipsis")
            return Group(
                heading, Text(), self._table(now), *self._problems(now), Text(), *self._events
            )

    def _problems(self, now: datetime) -> list[Text]:
        """Return a line for each flow that has failed, or that an open transaction holds up."""
        lines = []
        for flow in self._status.flows.values():
            if flow.error is not None:
                again = flow.restart_at and (flow.restart_at - now).total_seconds()
                when = "" if again is None else f" (again in {max(again, 0):.0f} s)"
                words = f"{flow.flow}{when}: [{flow.error.code}] {flow.error.message}"
                lines.append(Text(words, style="red", no_wrap=True, overflow="ellipsis"))
            if flow.lag is not None and (waits := held(flow.lag, now)):
                words = f"{flow.flow}: {waits}"
                lines.append(Text(words, style="yellow", no_wrap=True, overflow="ellipsis"))
        return lines

    def _table(self, now: datetime) -> Table:
        # Few flows remove duplicates: the others keep the room for their names.
        has_duplicates = any(flow.totals.duplicates for flow in self._status.flows.values())
        columns = (*_COLUMNS, *([_DUPLICATES] if has_duplicates else []))
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
        width = _OTHER_COLUMNS_WIDTH + (6 if has_duplicates else 0)
        room = max(self._console.width - width, 6)
        table.add_column("flow", no_wrap=True, overflow="ellipsis", max_width=room)
        table.add_column("state", no_wrap=True, width=10)
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True, width=max(len(column), 5))
        for name, flow in self._status.flows.items():
            state = self._status.state_of(name)
            cells = _cells(flow, now)[: len(columns)]
            table.add_row(Text(name), Text(state, style=_STYLES.get(state, "")), *cells)
        return table


def _cells(flow: FlowStatus, now: datetime) -> list[str]:
    rates, batch, lag = flow.rates(now), flow.last_batch, flow.lag
    return [
        compact_number(rates.records_in),
        compact_number(rates.records_out),
        compact_seconds(batch.seconds if batch else None),
        compact_number(lag.records if lag else None),
        compact_seconds(lag.seconds if lag else None),
        compact_seconds(flow.watermark_delay_seconds()),
        compact_number(batch.state_rows if batch and batch.state_rows else None),
        compact_number(flow.totals.dead_letters),
        compact_number(flow.totals.duplicates),
    ]


def _line(at: datetime, words: str) -> Text:
    """Return one line: what does not fit is cut off, so that the view keeps its height."""
    return Text(f"{at.astimezone():%H:%M:%S} {words}", no_wrap=True, overflow="ellipsis")


def compact_number(value: float | None) -> str:
    """Return `value` in at most five characters: `7`, `0.5`, `12.3k`, `1.2M`; `-` if unknown."""
    if value is None:
        return "-"
    if 0 < value < 9.95:
        return f"{value:.1f}".removesuffix(".0")
    for unit in ("", "k", "M", "G"):
        if value < 999.5:
            return f"{value:.0f}{unit}" if not unit or value >= 99.95 else f"{value:.1f}{unit}"
        value /= 1000
    return f"{value:.0f}T"


def compact_seconds(value: float | None) -> str:
    """Return a length of time in at most five characters: `310ms`, `4.2s`, `12m`; or `-`."""
    if value is None:
        return "-"
    value = max(value, 0.0)
    if value < 0.9995:
        return f"{value * 1000:.0f}ms"
    if value < 99.5:
        return f"{value:.1f}s" if value < 9.95 else f"{value:.0f}s"
    for unit, seconds, next_unit in (("m", 60, 5970), ("h", 3600, 170_000)):
        if value < next_unit:
            return f"{value / seconds:.0f}{unit}"
    return f"{value / 86_400:.0f}d"
