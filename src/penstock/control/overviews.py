"""A pipeline as the cluster and this machine know it together.

Drivers tell the cluster how they are; a keeper knows on its machine what a driver that died can no
longer tell: that it is about to be started again, or was given up, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.control.holders import ProcessState, process_state
from penstock.control.kept import ENDED, KeeperState
from penstock.control.status_records import PipelineState

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.control.detached import KeptPipeline
    from penstock.control.fleet import PipelineView
    from penstock.control.holders import Holder
    from penstock.control.kept import KeeperRecord
    from penstock.names import PipelineName

_ALIVE = frozenset(
    {PipelineState.STARTING, PipelineState.RUNNING, PipelineState.PAUSED, PipelineState.STOPPING}
)


class OverallState(StrEnum):
    """Where a pipeline is in its life, in the words that users read."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    """Its driver died, and its keeper starts the next one after a pause."""

    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"


_FROM_KEEPER = {
    KeeperState.STARTING: OverallState.STARTING,
    KeeperState.RUNNING: OverallState.RUNNING,
    KeeperState.WAITING: OverallState.RESTARTING,
    KeeperState.STOPPING: OverallState.STOPPING,
    KeeperState.STOPPED: OverallState.STOPPED,
    KeeperState.FAILED: OverallState.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A pipeline as it can be believed to be."""

    pipeline: PipelineName
    state: OverallState
    since: datetime
    why: str | None
    view: PipelineView | None
    """What the cluster knows; None before the first driver has told anything."""

    kept: KeptPipeline | None
    """What this machine knows; None when the pipeline is not detached here."""

    @property
    def driver(self) -> Holder | None:
        """The driver that runs it, or ran it last."""
        return self.view.driver if self.view else None

    @property
    def has_keeper(self) -> bool:
        """Whether a keeper on this machine is alive."""
        return self.kept is not None and self.kept.is_kept


def overview_of(view: PipelineView | None, kept: KeptPipeline | None) -> Overview | None:
    """Return what both together mean; None when neither knows anything."""
    record = kept.record if kept else None
    if record is not None and kept is not None and _keeper_knows_better(view, kept, record):
        is_lost = kept.is_abandoned
        return Overview(
            pipeline=kept.pipeline,
            state=OverallState.LOST if is_lost else _FROM_KEEPER[record.state],
            since=record.since,
            why="its keeper has died, and its driver is silent" if is_lost else record.why,
            view=view,
            kept=kept,
        )
    if view is None:
        return None
    return Overview(
        pipeline=view.pipeline,
        state=OverallState(view.state),
        since=view.since,
        why=view.why,
        view=view,
        kept=kept,
    )


def _keeper_knows_better(
    view: PipelineView | None, kept: KeptPipeline, record: KeeperRecord
) -> bool:
    if view is None:
        return True
    pid = view.driver.pid if view.driver else None
    if kept.is_kept:
        # Until a driver that died counts as lost, the cluster takes it for alive.
        return not (pid == record.driver_pid and view.state in _ALIVE)
    # A keeper that has ended speaks of its own last driver, and only if nobody has run since.
    is_its_last = record.last_exit is not None and record.last_exit.pid == pid
    is_silent = view.state not in _ALIVE and view.since <= record.since
    return record.state in ENDED and (is_silent or (is_its_last and view.state in _ALIVE))


def advice(overview: Overview) -> str:
    """Return what to do about a pipeline whose driver is lost."""
    driver = overview.driver
    again = "`penstock start` in its project takes over, and goes on where it was"
    if driver is None:
        return again
    match process_state(driver):
        case ProcessState.GONE:
            return f"its process {driver.pid} is gone; {again}"
        case ProcessState.FROZEN:
            return (
                f"its process {driver.pid} is frozen; `kill -CONT {driver.pid}` lets it go on, and "
                f"{again}"
            )
        case ProcessState.ALIVE:
            return (
                f"its process {driver.pid} is there and does not reach Kafka; once it has ended, "
                f"{again}"
            )
        case ProcessState.OUT_OF_SIGHT:
            return f"look for process {driver.pid} on `{driver.host}`; {again}"
