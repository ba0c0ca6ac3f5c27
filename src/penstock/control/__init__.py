"""A pipeline's life: it is checked, started, watched over, stopped."""

from penstock.control.errors import FlowsFailedError, PipelineRunningError
from penstock.control.status import FlowStatus, PipelineStatus, Rates, Totals
from penstock.control.supervision import FlowState

__all__ = [
    "FlowState",
    "FlowStatus",
    "FlowsFailedError",
    "PipelineRunningError",
    "PipelineStatus",
    "Rates",
    "Totals",
]
