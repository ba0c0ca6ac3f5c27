"""What can go wrong with a run as a whole; single flows fail with errors of the engine."""

from collections.abc import Mapping

from penstock.errors import PenstockError
from penstock.names import FlowName, PipelineName


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
    """Another process of this machine runs the same pipeline on the same checkpoints."""

    code = "PEN-221"

    def __init__(self, pipeline: PipelineName, *, pid: str, root: str) -> None:
        super().__init__(
            f"pipeline `{pipeline}` is running already, as process {pid or 'unknown'}",
            hint=f"stop it first, or set another `spark.checkpoint_root` than `{root}`",
        )
        self.pipeline, self.pid = pipeline, pid
