"""Why a command to a running pipeline is not carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError
from penstock.names import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.control.commands import Refusal
    from penstock.control.supervision import FlowState
    from penstock.names import FlowName, PipelineName


class NobodyListensError(PenstockError):
    """No driver has answered a command in time."""

    code = "PEN-230"
    retryable = True

    def __init__(self, pipeline: PipelineName, *, seconds: float, withdrawn: bool) -> None:
        rest = "" if withdrawn else "; Kafka did not take the command back, so it may still be done"
        super().__init__(
            f"nobody answers for pipeline `{pipeline}`: no driver did within {seconds:g} s{rest}",
            hint=f"`penstock show {pipeline}` tells whether it runs; `penstock start` starts it",
        )
        self.pipeline, self.withdrawn = pipeline, withdrawn


class CommandRefusedError(PenstockError):
    """A driver has refused a command; the error is the driver's."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message, hint=refusal.hint)
        self.code = refusal.code  # type: ignore[misc] # any code of the driver's


class UnknownRunningFlowError(PenstockError):
    """The running pipeline has no flow of that name."""

    code = "PEN-231"

    def __init__(self, flow: str, *, known: Sequence[FlowName]) -> None:
        close = nearest(flow, known)
        listed = ", ".join(f"`{name}`" for name in known)
        super().__init__(
            f"the running pipeline has no flow `{flow}`",
            hint=f"did you mean `{close}`?" if close else f"its flows are {listed}",
        )
        self.flow = flow


class WrongStateError(PenstockError):
    """A flow is in a state in which the command means nothing."""

    code = "PEN-232"

    def __init__(self, flow: FlowName, state: FlowState, *, wish: str, hint: str) -> None:
        super().__init__(f"flow `{flow}` is {state}, so it cannot be {wish}", hint=hint)
        self.flow, self.state = flow, state


class NotKeptError(PenstockError):
    """Nobody would start this driver again."""

    code = "PEN-233"

    def __init__(self, pipeline: PipelineName, *, wish: str) -> None:
        super().__init__(
            f"pipeline `{pipeline}` runs in the foreground: to {wish}, it would have to end, and"
            " nobody would start it again",
            hint="stop it and run it anew, or let `penstock start` run it; flows restart one by"
            " one with `--flow`",
        )
        self.pipeline = pipeline


class FrozenByCheckpointError(PenstockError):
    """What was asked for has for ever the value with which the checkpoint was born."""

    code = "PEN-234"

    def __init__(self, flow: FlowName, *, found: str | None, wanted: int) -> None:
        has = f"{found} " if found else "its number of "
        super().__init__(
            f"flow `{flow}` keeps {has}shuffle partitions: its checkpoint was born with them, and"
            f" its state is divided among them; {wanted} would need a replay",
            hint=f"a replay is a new checkpoint that reads the topics of `{flow}` again from where"
            " they begin, and writes its output again; `--cores` and `--min-partitions` need none",
        )
        self.flow = flow


class WrongArgumentError(UsageError):
    """An argument of a command makes no sense."""

    code = "PEN-235"

    def __init__(self, *, what: str, found: str, expected: str, hint: str) -> None:
        super().__init__(f"{what} is {found}, expected {expected}", hint=hint)


class NotScalableError(PenstockError):
    """The flow has nothing that could be read with more tasks."""

    code = "PEN-236"

    def __init__(self, flow: FlowName, *, because: str) -> None:
        super().__init__(
            f"flow `{flow}` cannot read with more tasks: {because}",
            hint="`penstock rescale PIPELINE --cores N` gives all flows more cores",
        )
        self.flow = flow


class UnknownToDriverError(PenstockError):
    """The driver's version of Penstock does not know the command."""

    code = "PEN-237"

    def __init__(self, pipeline: PipelineName) -> None:
        super().__init__(
            f"the driver of pipeline `{pipeline}` does not know this command",
            hint="it runs another version of Penstock: stop it and start it with this one",
        )


class NotNowError(PenstockError):
    """The run is at a point where the command cannot be carried out."""

    code = "PEN-238"
    retryable = True

    def __init__(self, *, doing: str, hint: str) -> None:
        super().__init__(f"the pipeline is {doing}", hint=hint)
