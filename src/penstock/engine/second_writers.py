"""Noticing that another process uses the checkpoint of a flow, as no lease should let happen.

Whatever fails then (a lane was taken over, a file is not where it was a moment ago, Spark
stumbles over plans that it has not made), the user is told of the other process.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from penstock.engine.checkpoints import DamagedCheckpointError
from penstock.engine.failure_errors import SecondWriterError
from penstock.engine.storage import StorageFaultError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.names import FlowName


def check_alone(checkpoint: CheckpointFolder, flow: FlowName) -> None:
    """Check a checkpoint, and tell damage from the traces of a query that runs elsewhere.

    Raises:
        DamagedCheckpointError: a file is missing or does not hold what belongs there.
        SecondWriterError: the checkpoint changes while it is looked at.
    """
    before = checkpoint.newest_batches()
    try:
        checkpoint.check()
    except DamagedCheckpointError as err:
        if checkpoint.newest_batches() != before:
            raise SecondWriterError(flow, "another process runs it too, on its checkpoint") from err
        raise


def second_writer(
    checkpoint: CheckpointFolder, flow: FlowName, query: StreamingQuery, *, resumed: int | None
) -> SecondWriterError | None:
    """Return that another process runs `flow`, if its ended query cannot have planned all batches.

    Args:
        checkpoint: the checkpoint of the query.
        flow: its flow.
        query: has ended with an error.
        resumed: the last batch that was committed when the query started.
    """
    done = -1 if resumed is None else resumed
    with suppress(Py4JError, StorageFaultError):
        progress = query.lastProgress
        if progress is not None:
            done = max(done, int(progress["batchId"]))
        planned = checkpoint.last_planned()
        if planned is not None and planned > done + 1:
            because = f"another process runs it too, and is at batch {planned} of its checkpoint"
            return SecondWriterError(flow, because)
    return None
