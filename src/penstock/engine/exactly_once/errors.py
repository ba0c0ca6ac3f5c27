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
            'or declare `nondeterministic="persist"` or `delivery="at_least_once"`',
            origin=origin,
        )


class WanderingStateError(UsageError):
    """A flow would keep state of rows that may be others when a batch is run again."""

    code = "PEN-368"

    def __init__(self, flow: FlowName, operator: str, *, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow}` would write other rows than its state says: `{operator}` has values "
            "that differ when a batch is run again, and state is made of them; a kept batch keeps "
            "its rows, not its state",
            hint="compute such values (`rand`, `uuid`, a non-deterministic function) in a flow of "
            "their own that writes a topic, or behind whatever keeps state, or declare "
            '`delivery="at_least_once"`',
            origin=origin,
        )


class KeptBatchMissingError(PenstockError):
    """The files of a batch that is half written are gone."""

    code = "PEN-369"

    def __init__(self, flow: FlowName, path: str) -> None:
        super().__init__(
            f"flow `{flow}` has kept a batch in `{path}`, which is not there any more: computed "
            "again, it could have other rows than those that are written",
            hint="put the files back; or, if rows may be lost or written twice, delete the folder "
            "above it",
        )


class LanesChangedError(PenstockError):
    """A batch that was half written would have other records in its lanes, or in another order."""

    code = "PEN-364"

    def __init__(self, flow: FlowName, batch_id: int, *, lanes: int) -> None:
        super().__init__(
            f"flow `{flow}` has written a part of batch {batch_id} and would now share it out "
            f"differently, to {lanes} lanes: records would be lost or written twice",
            hint="undo the last change of the flow, its parallelism or its source options, let it "
            "write that batch, then change it again",
        )


class CheckpointBehindError(PenstockError):
    """Lanes have written batches that the checkpoint has not planned."""

    code = "PEN-375"

    def __init__(
        self, flow: FlowName, *, checkpoint: str, planned: int | None, written: int
    ) -> None:
        found = "no batch" if planned is None else f"batch {planned}"
        super().__init__(
            f"checkpoint `{checkpoint}` of flow `{flow}` has come to {found}, the ledger to batch "
            f"{written}: what the flow would read now up to that batch would be taken for written, "
            "and be lost",
            hint="put back the newer copy of the checkpoint; or move it and the files beside it "
            f"away, and let topics `start=` where batch {written} has ended, which "
            "`penstock audit PIPELINE --batches --json` tells",
        )
        self.flow, self.planned, self.written = flow, planned, written


class LaneFailedError(PenstockError):
    """A lane could not write now, and told why from its worker."""

    code = "PEN-365"
    retryable = True

    def __init__(self, flow: str, message: str, *, hint: str) -> None:
        super().__init__(f"flow `{flow}`: {message}", hint=hint)


class LongBatchError(LaneFailedError):
    """A batch takes longer than a transaction may: it is run again on purpose."""

    code = "PEN-376"
    wait_seconds = 0.0


class LaneRefusedError(LaneFailedError):
    """A lane cannot write, and told why from its worker."""

    code = "PEN-366"
    retryable = False
