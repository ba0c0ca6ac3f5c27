"""What keeps a flow from writing exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.errors import Origin
    from penstock.names import FlowName


class WanderingRowsError(UsageError):
    """A row may be in another lane when a batch is run again."""

    code = "PEN-363"

    def __init__(self, flow: FlowName, operator: str, *, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow}` would write rows twice: `{operator}` has values that differ when a "
            "batch is run again, and rows are grouped or shared out by them",
            hint="take such values (`rand`, `uuid`, a non-deterministic function) out of the keys, "
            'or declare `delivery="at_least_once"`',
            origin=origin,
        )


class LanesChangedError(PenstockError):
    """A batch that was half written is to be run with other lanes."""

    code = "PEN-364"

    def __init__(self, flow: FlowName, batch_id: int, *, lanes: int) -> None:
        super().__init__(
            f"flow `{flow}` has written a part of batch {batch_id} and would now share it out "
            f"differently, to {lanes} lanes: records would be lost or written twice",
            hint="undo the last change of the flow's parallelism or source options, let it write "
            "that batch, then change it again",
        )


class LaneFailedError(PenstockError):
    """A lane could not write now, and told why from its worker."""

    code = "PEN-365"
    retryable = True

    def __init__(self, flow: str, message: str, *, hint: str) -> None:
        super().__init__(f"flow `{flow}`: {message}", hint=hint)


class LaneRefusedError(LaneFailedError):
    """A lane cannot write, and told why from its worker."""

    code = "PEN-366"
    retryable = False
