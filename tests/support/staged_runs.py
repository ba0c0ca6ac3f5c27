"""The loop of a run in a thread, with queries that a test ends as it likes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

from penstock.control.supervised import Query, QueryFailure, Restarts
from penstock.control.supervision import RestartPolicy
from penstock.control.supervisor import Supervisor
from penstock.engine.events import FailureClass, FlowFailed
from penstock.engine.failures import Failure
from penstock.names import FlowName
from support.pipeline_events import HiccupError
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.events import PipelineEvent
    from penstock.errors import PenstockError

A, B = FlowName("a"), FlowName("b")


class LastingError(HiccupError):
    retryable = False


@dataclass
class StagedQuery:
    """Ends when the test says so, or when it is stopped."""

    ending: SimpleQueue[QueryFailure | None] = field(default_factory=SimpleQueue)
    finishes_batches: bool = True
    asked: list[str] = field(default_factory=list)

    failure: QueryFailure | None = None

    def await_end(self) -> None:
        self.failure = self.ending.get()

    def stop_after_batch(self, timeout_seconds: float) -> None:
        assert timeout_seconds > 0
        self.asked.append("after batch")
        if self.finishes_batches:
            self.ending.put(None)

    def stop_now(self) -> None:
        self.asked.append("now")
        self.ending.put(None)

    def end(self) -> None:
        self.ending.put(None)

    def fail(self, error: PenstockError, failure: FailureClass = FailureClass.CODE) -> None:
        self.ending.put(Failure(failure=failure, error=error))


class Stage:
    """A supervisor that runs in a thread, and what came of it."""

    def __init__(
        self,
        after: Mapping[FlowName, frozenset[FlowName]] | None = None,
        *,
        first_pause_seconds: float = 0.01,
        begin: bool = True,
    ) -> None:
        self.queries: defaultdict[FlowName, list[StagedQuery]] = defaultdict(list)
        self.events: list[PipelineEvent] = []
        self.outcome: Mapping[FlowName, PenstockError] | Exception | None = None
        self.next_query = StagedQuery
        self.kafka_is_away = False
        self.rests = 0
        self.may_start = Event()
        self.may_start.set()
        policy = RestartPolicy(limit=3, window_seconds=60, first_pause_seconds=first_pause_seconds)
        self.supervisor = Supervisor(
            [A, B],
            self._start,
            restarts=Restarts(policy=policy, dice=lambda _low, _high: 1.0),
            notify=self.events.append,
            kafka_is_away=lambda: self.kafka_is_away,
            on_rest=self._rest,
            after=after,
        )
        self._thread = Thread(target=self._run, daemon=True)
        if begin:
            self.begin()

    def begin(self) -> None:
        """Let the loop run."""
        self._thread.start()

    def _start(self, flow: FlowName) -> Query:
        self.may_start.wait(10)
        query = self.next_query()
        self.queries[flow].append(query)
        return query

    def _rest(self) -> None:
        self.rests += 1

    def _run(self) -> None:
        try:
            self.outcome = self.supervisor.run()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.outcome = error

    def query(self, flow: FlowName, number: int = 0) -> StagedQuery:
        """Return the query of the flow's start of that number, once there is one."""
        eventually(lambda: len(self.queries[flow]) > number, within_seconds=5)
        return self.queries[flow][number]

    def end(self) -> Mapping[FlowName, PenstockError] | Exception | None:
        """Wait for the end of the run and return its outcome."""
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()
        return self.outcome

    def told(self, kind: type[PipelineEvent]) -> list[PipelineEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def has_failed(self, times: int) -> bool:
        return len(self.told(FlowFailed)) == times

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """End the run, however the test has left it."""
        self.may_start.set()
        for _ in range(3):
            self.supervisor.stop()
        self.end()
