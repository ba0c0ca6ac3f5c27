"""Where a running pipeline stands: its events folded into numbers per flow.

Nothing here asks Spark or Kafka; whoever has the events has the status. The terminal draws it,
and the summary at the end is its totals.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the fields' types
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, assert_never

from penstock.control.latency import LatencyHistogram
from penstock.control.supervision import AT_REST, FlowState
from penstock.engine.events import (
    BatchFinished,
    DataLost,
    DeadLettersWritten,
    FlowFailed,
    FlowIdle,
    FlowLag,
    FlowPaused,
    FlowPlanned,
    FlowRestarting,
    FlowStarted,
    FlowStarting,
    FlowStopped,
    KafkaAway,
    KafkaBack,
    LookupReloaded,
)
from penstock.names import DatasetName  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.engine.events import PipelineEvent, SubjectRead
    from penstock.errors import PenstockError
    from penstock.names import FlowName
    from penstock.pipeline import Guarantee

RATE_SPAN = timedelta(seconds=10)
"""Rates are means over this time: shorter ones jump with each batch, longer ones hide a stop."""


@dataclass(slots=True, kw_only=True)
class Totals:
    """What a flow has done since the run began."""

    records_in: int = 0
    records_out: int | None = 0
    """None when a sink does not say."""

    dead_letters: int = 0
    batches: int = 0
    seconds: float = 0
    """The time spent in batches."""

    restarts: int = 0
    dropped_late: int = 0
    duplicates: int = 0
    undecodable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Records per second; None where the sink does not say."""

    records_in: float
    records_out: float | None
    by_source: Mapping[DatasetName, float] = field(default_factory=dict)
    """Of the Kafka topics it reads, those whose records were counted in every batch."""

    by_target: Mapping[str, float] = field(default_factory=dict)
    """Of the topics, tables and sinks it writes, by the names that `BatchFinished.written` has."""


@dataclass(slots=True, kw_only=True)
class FlowStatus:
    """Where one flow stands."""

    flow: FlowName
    state: FlowState = FlowState.STARTING
    totals: Totals = field(default_factory=Totals)
    last_batch: BatchFinished | None = None
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    lag: FlowLag | None = None
    error: PenstockError | None = None
    """Why it failed, until a batch has gone well again."""

    restart_at: datetime | None = None
    reads: tuple[SubjectRead, ...] = ()
    writes: Mapping[DatasetName, Guarantee] = field(default_factory=dict)
    _recent: deque[BatchFinished] = field(default_factory=deque)

    def apply(self, event: PipelineEvent) -> None:
        """Take in an event of this flow."""
        match event:
            case FlowStarted(reads=reads, writes=writes):
                self.state, self.restart_at = FlowState.RUNNING, None
                self.reads, self.writes = reads, writes
            case BatchFinished():
                self._count(event)
            case FlowIdle():
                if self.state not in AT_REST:
                    self.state = FlowState.IDLE
            case FlowLag():
                self.lag = event
            case DeadLettersWritten(count=count):
                self.totals.dead_letters += count
            case FlowFailed(error=error):
                self.error = error
            case FlowRestarting(at=at, after_seconds=pause):
                self.state, self.restart_at = FlowState.RESTARTING, at + timedelta(seconds=pause)
                self.totals.restarts += 1
            case FlowPaused():
                self.state, self.restart_at = FlowState.PAUSED, None
            case FlowStarting():
                self.state, self.error, self.restart_at = FlowState.STARTING, None, None
            case FlowStopped():
                self._end(event)
            case DataLost() | LookupReloaded() | FlowPlanned() | KafkaAway() | KafkaBack():
                pass
            case _:
                assert_never(event)

    def rates(self, now: datetime) -> Rates:
        """Return the mean rates of the last seconds, over whole batches.

        A flow whose batches take longer is measured over as long as two of them: while the next
        one runs it is slow, not still.
        """
        longest = timedelta(seconds=2 * self._recent[-1].seconds) if self._recent else RATE_SPAN
        begin = now - max(RATE_SPAN, longest)
        while len(self._recent) > 1 and self._recent[0].at < begin:
            self._recent.popleft()
        if not self._recent or self._recent[-1].at < begin:
            says = self.totals.records_out is not None
            return Rates(records_in=0, records_out=0 if says else None)
        begun = self._recent[0].at - timedelta(seconds=self._recent[0].seconds)
        seconds = max((now - begun).total_seconds(), 0.001)
        written = [batch.output_rows for batch in self._recent]
        known = [rows for rows in written if rows is not None]
        return Rates(
            records_in=sum(batch.input_rows for batch in self._recent) / seconds,
            records_out=sum(known) / seconds if len(known) == len(written) else None,
            by_source={name: rows / seconds for name, rows in _read_by_source(self._recent)},
            by_target={name: rows / seconds for name, rows in _written(self._recent).items()},
        )

    def watermark_delay_seconds(self) -> float | None:
        """Return how far the watermark was behind the clock at the last batch."""
        batch = self.last_batch
        # Before the first event Spark's watermark is the beginning of time as it knows it.
        if batch is None or batch.watermark is None or batch.watermark.timestamp() <= 0:
            return None
        return (batch.at - batch.watermark).total_seconds()

    def _end(self, event: FlowStopped) -> None:
        ended_well = FlowState.FINISHED if event.finished else FlowState.STOPPED
        self.state = FlowState.FAILED if event.error else ended_well
        self.error, self.restart_at = event.error, None

    def _count(self, batch: BatchFinished) -> None:
        # Spark tells of a batch when it is done with it, which may be after the query has ended.
        if self.state not in AT_REST:
            self.state, self.error = FlowState.RUNNING, None
        self.last_batch = batch
        self._recent.append(batch)
        totals = self.totals
        totals.records_in += batch.input_rows
        if totals.records_out is not None:
            rows = batch.output_rows
            totals.records_out = None if rows is None else totals.records_out + rows
        totals.batches += 1
        totals.seconds += batch.seconds
        totals.dropped_late += batch.dropped_late
        totals.duplicates += batch.duplicates
        totals.undecodable += sum(batch.undecodable.values())
        self.latency.add(batch)


def _read_by_source(batches: Iterable[BatchFinished]) -> Iterator[tuple[DatasetName, int]]:
    counts: defaultdict[DatasetName, list[int | None]] = defaultdict(list)
    for batch in batches:
        for source in batch.sources:
            rows = None if source.rows is None else sum(source.rows.values())
            counts[source.dataset].append(rows)
    for name, found in counts.items():
        known = [rows for rows in found if rows is not None]
        if len(known) == len(found):
            yield name, sum(known)


def _written(batches: Iterable[BatchFinished]) -> Counter[str]:
    written: Counter[str] = Counter()
    for batch in batches:
        written.update(batch.written)
    return written


class PipelineStatus:
    """Where each flow of a run stands, and whether Kafka is there."""

    def __init__(
        self, flows: Sequence[FlowName], *, at_first: FlowState = FlowState.STARTING
    ) -> None:
        self.flows = {flow: FlowStatus(flow=flow, state=at_first) for flow in flows}
        self.kafka_away: KafkaAway | None = None

    def apply(self, event: PipelineEvent) -> None:
        """Take in an event."""
        match event:
            case KafkaAway():
                self.kafka_away = event
            case KafkaBack():
                self.kafka_away = None
            case _:
                self.flows[event.flow].apply(event)

    def state_of(self, flow: FlowName) -> FlowState:
        """Return the state to show: without Kafka, nothing that runs gets anywhere."""
        state = self.flows[flow].state
        return FlowState.NO_KAFKA if self.kafka_away and state not in AT_REST else state
