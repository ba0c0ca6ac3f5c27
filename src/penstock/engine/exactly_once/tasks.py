"""What a task does: the Arrow batches of its partition become records of its lane.

Runs in Python workers; whatever is imported here is imported there.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.types import StringType, StructField, StructType

from penstock.engine.exactly_once.whole_input import TaskInput
from penstock.errors import PenstockError
from penstock.kafka.lanes.ledger import LaneEntry
from penstock.kafka.lanes.writing import LaneResult, RecordBatch, write_lane
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.kafka.connection import Connection
    from penstock.kafka.lanes.writing import LaneTask

# Not as text: Spark would be asked for its meaning in every batch.
RESULT_SCHEMA = StructType([StructField("lane", StringType()), StructField("result", StringType())])

FINGERPRINT_COLUMN = "fingerprint"
"""`xxhash64(key, value)` of each record, which Spark computes faster than Python counts."""

_BITS = 2**64 - 1

_RESULT = pa.schema([("lane", pa.string()), ("result", pa.string())])


class LaneFailure(NamedTuple):
    """An error of a lane on its way from a worker to the driver."""

    code: str
    message: str
    hint: str
    retryable: bool


class LaneFailedInWorker(Exception):  # noqa: N818 - how an error travels, not a fault of ours
    """Carries a `LaneFailure` through Spark, which keeps the text of an exception alone."""

    MARK = "penstock-lane-failure "

    def __init__(self, error: PenstockError) -> None:
        failure = LaneFailure(error.code, error.message, error.hint, error.retryable)
        super().__init__(self.MARK + json.dumps(failure))


def failure_in(message: str) -> LaneFailure | None:
    """Return the failure of a lane that is told in the text of an exception of Spark."""
    _, mark, rest = message.partition(LaneFailedInWorker.MARK)
    if not mark:
        return None
    content, _ = json.JSONDecoder().raw_decode(rest)
    return LaneFailure(*content)


def lane_writer(
    connection: Connection, tasks: Sequence[LaneTask | None], topic: TopicName | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for `mapInArrow` that writes each partition into its lane.

    Args:
        connection: how to reach the cluster.
        tasks: by the index of the partition; None: its rows are not written.
        topic: where all records go; None: each record's `topic`.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None  # noqa: S101 - this is a task
        task = tasks[context.partitionId()]
        if task is None:
            for _ in batches:
                pass
            return

        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        try:
            task_input = TaskInput()
            if first is None and task.owner is not None:
                # This driver has shut out others from the lane already, and has nothing to write.
                task_input.ensure_whole()
                return

            def records(rows: int) -> Iterator[list[RecordBatch]]:
                for batch in chain(() if first is None else (first,), filled):
                    written = min(rows, batch.num_rows)
                    yield list(record_batches(batch.slice(written), topic))
                    rows -= written
                task_input.ensure_whole()

            result = write_lane(connection, task, records)
        except PenstockError as err:
            raise LaneFailedInWorker(err) from err
        for _ in batches:  # a worker that leaves input behind is not used again
            pass
        row = {"lane": task.lane.name, "result": result_text(result)}
        yield pa.RecordBatch.from_pylist([row], schema=_RESULT)

    return write


def record_batches(batch: pa.RecordBatch, topic: TopicName | None) -> Iterator[RecordBatch]:
    """Yield the records of an Arrow batch, topic by topic, each in their order."""
    if not batch.num_rows:
        return
    if topic is not None:
        yield _records(batch, topic)
        return
    for found in pc.unique(batch.column("topic")).to_pylist():
        chosen = batch.filter(pc.equal(batch.column("topic"), found))
        yield _records(chosen, TopicName(found))


def _records(batch: pa.RecordBatch, topic: TopicName) -> RecordBatch:
    headers = None
    if "headers" in batch.schema.names:
        headers = [
            [(item["key"], item["value"]) for item in some or ()]
            for some in batch.column("headers").to_pylist()
        ]
    return RecordBatch(
        topic=topic,
        keys=batch.column("key").to_pylist(),
        values=batch.column("value").to_pylist(),
        headers=headers,
        fingerprint=int(np.bitwise_xor.reduce(batch.column(FINGERPRINT_COLUMN).to_numpy())) & _BITS,
    )


def result_text(result: LaneResult) -> str:
    """Return a result as it travels to the driver."""
    entry = None if result.entry is None else result.entry.to_bytes().decode()
    content = {"entry": entry, "owner": result.owner, "was_written": result.was_written}
    return json.dumps(content)


def result_of(text: str) -> LaneResult:
    """Return what `result_text` wrote."""
    content: dict[str, Any] = json.loads(text)
    entry = content["entry"]
    return LaneResult(
        entry=None if entry is None else LaneEntry.from_bytes(entry.encode()),
        owner=content["owner"],
        was_written=content["was_written"],
    )
