"""A pipeline's life: it is checked, started, watched over, stopped."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.control.bounded import run_bounded
    from penstock.control.errors import FlowsFailedError, PipelineRunningError
    from penstock.control.locking import only_run
    from penstock.control.options import RunOptions
    from penstock.control.running import PipelineRun
    from penstock.control.status import FlowStatus, PipelineStatus, Rates, Totals
    from penstock.control.supervision import FlowState
    from penstock.control.supervisor import STOP_TIMEOUT_SECONDS

__all__ = [
    "STOP_TIMEOUT_SECONDS",
    "FlowState",
    "FlowStatus",
    "FlowsFailedError",
    "PipelineRun",
    "PipelineRunningError",
    "PipelineStatus",
    "Rates",
    "RunOptions",
    "Totals",
    "only_run",
    "run_bounded",
]

_HOMES = {
    "run_bounded": "bounded",
    "FlowsFailedError": "errors",
    "PipelineRunningError": "errors",
    "only_run": "locking",
    "RunOptions": "options",
    "PipelineRun": "running",
    "FlowStatus": "status",
    "PipelineStatus": "status",
    "Rates": "status",
    "Totals": "status",
    "FlowState": "supervision",
    "STOP_TIMEOUT_SECONDS": "supervisor",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: keepers must stay small.

    There is one for each detached pipeline, and it needs neither Kafka's client nor pydantic.
    """
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"penstock.control.{_HOMES[name]}"), name)
