"""Shadow groups: what flows have read, as committed offsets that every Kafka tool understands.

Spark keeps its offsets in checkpoints and commits none. After each batch a flow's end offsets are
written to the group `penstock.<pipeline>.<flow>`, which has no members. Nobody reads them back: the
checkpoint alone decides where a flow goes on.

Writing trails behind on a thread of its own: of several batches within a second only the last is
written, and an outage of Kafka costs nothing but the newest figures until it is over.
"""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import TYPE_CHECKING, Self

from penstock.kafka import Admin, ClusterError, CommittedOffset, write_offsets
from penstock.monitoring.periodic import Periodic
from penstock.monitoring.positions import Positions
from penstock.names import GroupId

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.engine.events import BatchFinished, Offsets
    from penstock.kafka import Connection
    from penstock.names import FlowName, PipelineName

logger = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
REFRESH_SECONDS = 12 * 3600.0
"""Brokers drop the offsets of a group without members after a time, 7 days if nobody set another;
an idle flow keeps its own by writing them again twice a day."""

_REQUEST_SECONDS = 3.0


def shadow_group(pipeline: PipelineName, flow: FlowName) -> GroupId:
    """Return the group that shows how far `flow` has read."""
    return GroupId(f"penstock.{pipeline}.{flow}")


class ShadowGroups:
    """Keeps the groups of a pipeline's flows up to date, from `with` or `start` until `stop`.

    `begin` and `note` may be called from any thread and never wait for Kafka. Failures are logged
    once until the next success, and stay inside.
    """

    def __init__(
        self,
        connection: Connection,
        pipeline: PipelineName,
        *,
        clock: Callable[[], float] = time.monotonic,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self._admin = Admin(connection.with_request_timeout(_REQUEST_SECONDS))
        self._pipeline, self._clock = pipeline, clock
        self._positions, self._writing = Positions(), Lock()
        self._written: dict[FlowName, tuple[Offsets, float]] = {}
        self._complained: set[FlowName] = set()
        self._periodic = Periodic(self.write, seconds=every_seconds, name="penstock-shadow-groups")

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Begin to write about once per second what has changed."""
        self._periodic.start()

    def stop(self) -> None:
        """Write what is still to be written, if Kafka answers, and end."""
        self._periodic.stop(wait_seconds=_REQUEST_SECONDS)
        self.write()

    def begin(self, flow: FlowName, position: Offsets) -> None:
        """Note where `flow` resumes: an idle flow keeps its group that way."""
        self._positions.begin(flow, position)

    def note(self, event: BatchFinished) -> None:
        """Note where a finished batch ended."""
        self._positions.move(event)

    def write(self) -> None:
        """Write the groups of flows that have moved on, and those that would be forgotten."""
        with self._writing:
            for flow, position in self._due():
                try:
                    self._write(flow, position)
                except ClusterError as fault:
                    self._missed(flow, fault)
                    if fault.retryable:
                        return  # the other flows would meet the same silence

    def _due(self) -> list[tuple[FlowName, Offsets]]:
        stale = self._clock() - REFRESH_SECONDS
        return [
            (flow, position)
            for flow, position in self._positions.known().items()
            if flow not in self._written
            or self._written[flow][0] != position
            or self._written[flow][1] <= stale
        ]

    def _write(self, flow: FlowName, position: Offsets) -> None:
        commits = {item: CommittedOffset(offset=offset) for item, offset in position.items()}
        write_offsets(self._admin, shadow_group(self._pipeline, flow), commits)
        self._written[flow] = (position, self._clock())
        self._complained.discard(flow)

    def _missed(self, flow: FlowName, fault: ClusterError) -> None:
        if fault.retryable:
            self._admin.forget()  # a client that met an outage would wait longer and longer
        if flow not in self._complained:
            self._complained.add(flow)
            logger.warning(
                "the shadow group is not up to date",
                extra={
                    "flow": flow,
                    "group": shadow_group(self._pipeline, flow),
                    "reason": fault.message,
                },
            )
