"""A pipeline's life: it is checked, started, watched over, stopped."""

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
