"""What a run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.control.supervision import RestartPolicy

if TYPE_CHECKING:
    from penstock.kafka import Connection
    from penstock.pipeline import Flow, Pipeline
    from penstock.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is to be run, where, and for how long."""

    pipeline: Pipeline
    flows: tuple[Flow, ...]
    settings: Settings
    connection: Connection
    once: bool = False
    """Read what is there at the start and end; flows run after those that write their input."""

    @property
    def restart_policy(self) -> RestartPolicy:
        """How often failed flows start again."""
        pipeline = self.settings.pipeline
        return RestartPolicy(
            limit=pipeline.restart_limit, window_seconds=pipeline.restart_window_seconds
        )
