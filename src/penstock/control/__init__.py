"""A pipeline's life: it is checked, started, watched over, stopped."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.control.bounded import run_bounded
    from penstock.control.claims import Claim, Claimant
    from penstock.control.errors import (
        FlowsFailedError,
        LeaseLostError,
        PipelineRunningError,
        UnknownPipelineError,
    )
    from penstock.control.fleet import Fleet, PipelineView
    from penstock.control.options import RunOptions
    from penstock.control.project_version import code_version
    from penstock.control.redaction import cleaner
    from penstock.control.running import PipelineRun
    from penstock.control.status import FlowStatus, PipelineStatus, Rates, Totals
    from penstock.control.status_records import FlowRecord, PipelineRecord, PipelineState
    from penstock.control.supervision import FlowState
    from penstock.control.supervisor import STOP_TIMEOUT_SECONDS

__all__ = [
    "STOP_TIMEOUT_SECONDS",
    "Claim",
    "Claimant",
    "Fleet",
    "FlowRecord",
    "FlowState",
    "FlowStatus",
    "FlowsFailedError",
    "LeaseLostError",
    "PipelineRecord",
    "PipelineRun",
    "PipelineRunningError",
    "PipelineState",
    "PipelineStatus",
    "PipelineView",
    "Rates",
    "RunOptions",
    "Totals",
    "UnknownPipelineError",
    "cleaner",
    "code_version",
    "run_bounded",
]

_HOMES = {
    "run_bounded": "bounded",
    "Claim": "claims",
    "Claimant": "claims",
    "FlowsFailedError": "errors",
    "PipelineRunningError": "errors",
    "LeaseLostError": "errors",
    "UnknownPipelineError": "errors",
    "Fleet": "fleet",
    "PipelineView": "fleet",
    "RunOptions": "options",
    "code_version": "project_version",
    "cleaner": "redaction",
    "PipelineRun": "running",
    "FlowStatus": "status",
    "PipelineStatus": "status",
    "Rates": "status",
    "Totals": "status",
    "FlowRecord": "status_records",
    "PipelineRecord": "status_records",
    "PipelineState": "status_records",
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
