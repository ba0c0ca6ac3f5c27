"""What can go wrong with a run as a whole; single flows fail with errors of the engine."""

from collections.abc import Iterable, Mapping

from penstock.control.holders import Holder
from penstock.errors import PenstockError, UsageError
from penstock.names import FlowName, PipelineName, nearest


class FlowsFailedError(PenstockError):
    """Flows of a run have failed for good; the others went on until the end of the run."""

    code = "PEN-220"

    def __init__(self, causes: Mapping[FlowName, PenstockError]) -> None:
        what = "a flow has" if len(causes) == 1 else f"{len(causes)} flows have"
        told = "; ".join(
            f"`{flow}`: [{cause.code}] {cause.message}" for flow, cause in causes.items()
        )
        first = next(iter(causes.values()))
        super().__init__(
            f"{what} failed for good: {told}",
            hint=first.hint,
            origin=first.origin,
        )
        self.causes = dict(causes)

    def as_dict(self) -> dict[str, object]:
        """Return the fields of the error and of each cause, by flow."""
        causes = {flow: cause.as_dict() for flow, cause in self.causes.items()}
        return super().as_dict() | {"flows": causes}


class PipelineRunningError(PenstockError):
    """Another process runs the same pipeline on the same cluster."""

    code = "PEN-221"

    def __init__(self, pipeline: PipelineName, holder: Holder) -> None:
        since = f"{holder.started_at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(
            f"pipeline `{pipeline}` is running already, as process {holder.pid} on "
            f"`{holder.host}` since {since}",
            hint=f"`penstock stop {pipeline}` stops it; or wait until it has ended",
        )
        self.pipeline, self.holder = pipeline, holder


class LeaseLostError(PenstockError):
    """This process may not run its pipeline any more: it was frozen, or another took over."""

    code = "PEN-222"

    def __init__(self, pipeline: PipelineName, *, reason: str) -> None:
        super().__init__(
            f"this process has lost the lease of pipeline `{pipeline}` and has stopped: {reason}",
            hint=f"`penstock show {pipeline}` tells who runs it; if nobody does, start it again",
        )
        self.pipeline, self.reason = pipeline, reason


class UnknownPipelineError(UsageError):
    """No pipeline of that name has ever run on this cluster."""

    code = "PEN-223"

    def __init__(self, pipeline: str, *, known: Iterable[str]) -> None:
        close = nearest(pipeline, known)
        super().__init__(
            f"no pipeline `{pipeline}` has ever run on this cluster",
            hint=f"did you mean `{close}`?" if close else "`penstock list` shows those that have",
        )
        self.pipeline, self.nearest = pipeline, close
