"""Getting ready to write by lanes, at each start of a flow."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from penstock.engine.checkpoints import CheckpointFolder
from penstock.engine.exactly_once.checks import delivery_problems, uses_lanes
from penstock.engine.exactly_once.errors import CheckpointBehindError
from penstock.engine.exactly_once.keeping import KeptLanes
from penstock.engine.exactly_once.lane_plan import is_by_order, repeats_exactly
from penstock.engine.exactly_once.losses import ShortenedBatchFile
from penstock.engine.exactly_once.sink import BegunBatch, LaneSink, entries_by_lane
from penstock.errors import PenstockError
from penstock.kafka.lanes.ledger import LEDGER_TOPIC
from penstock.kafka.lanes.limits import batch_bytes, transaction_seconds
from penstock.pipeline import Delivery, Nondeterminism, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    from penstock.engine.context import PipelineContext
    from penstock.kafka.lanes.ledger import Written
    from penstock.names import FlowName, TopicName
    from penstock.pipeline import Flow, Pipeline

logger = logging.getLogger(__name__)

_ADAPTIVE = "spark.sql.adaptive.streaming.stateless.enabled"


def open_lanes(
    frame: DataFrame,
    flow: Flow,
    pipeline: Pipeline,
    context: PipelineContext,
    *,
    on_written: Callable[[int, Written], None],
) -> LaneSink:
    """Return what writes the batches of `frame` to topics, no record twice.

    Args:
        frame: what the function of the flow made of its streams.
        flow: one that uses lanes.
        pipeline: with contracts for what the flow reads.
        context: what the flows of the pipeline share.
        on_written: is told of each batch what its lanes have written.

    Raises:
        PenstockError: the flow cannot be written so, or the ledger cannot be read.
    """
    for problem in delivery_problems(frame, flow, pipeline):
        raise problem
    # Lanes must be the same when a batch is run again; Spark would join small ones as it likes.
    frame.sparkSession.conf.set(_ADAPTIVE, "false")
    _retire_lanes(pipeline, context)
    gives_up = flow.delivery is Delivery.AT_MOST_ONCE
    lanes = LaneSink(
        pipeline.name,
        flow.name,
        context.ledger.table(),
        by_content=is_by_order(frame),
        repeats=repeats_exactly(frame) or flow.nondeterministic is Nondeterminism.PERSIST,
        transaction_seconds=transaction_seconds(context.admin),
        batch_bytes=batch_bytes(context.admin, _topics(flow, pipeline)),
        on_written=on_written,
        kept=KeptLanes(context.storage, flow.name),
        begun=BegunBatch(context.storage, flow.name) if gives_up else None,
        shortened=ShortenedBatchFile(context.storage, flow.name).load(),
    )
    _ensure_not_behind(lanes, flow.name, CheckpointFolder(context.storage, flow.name))
    return lanes


def retire_lanes_if_any(pipeline: Pipeline, context: PipelineContext) -> None:
    """Forget the lanes of removed flows, where no flow opens any; what prevents it is logged."""
    try:
        if LEDGER_TOPIC in context.admin.metadata().topics:
            _retire_lanes(pipeline, context)
    except (PenstockError, Py4JError):
        logger.warning("lanes not retired", extra={"pipeline": pipeline.name}, exc_info=True)


def _retire_lanes(pipeline: Pipeline, context: PipelineContext) -> None:
    def is_needed(name: FlowName) -> bool:
        declared = any(item.name == name for item in pipeline.flows)
        return declared or CheckpointFolder(context.storage, name).exists()

    context.ledger.retire(pipeline.name, is_needed)


def note_lanes_before_loss(flow: Flow, pipeline: Pipeline, context: PipelineContext) -> None:
    """Note what is written of the planned batch of a flow; call it before that batch is shortened.

    Raises:
        PenstockError: the ledger cannot be read, or the note not be written.
    """
    # What was kept of a batch stays whole.
    if not uses_lanes(flow, pipeline) or flow.nondeterministic is Nondeterminism.PERSIST:
        return
    checkpoint = CheckpointFolder(context.storage, flow.name)
    planned, committed = checkpoint.newest_batches()
    query_id = checkpoint.query_id()
    if planned is None or query_id is None or planned == committed:
        return
    table = context.ledger.table()
    table.refresh()
    _, entries = entries_by_lane(table, pipeline.name, flow.name)
    ShortenedBatchFile(context.storage, flow.name).note(query_id, planned, entries)


def _topics(flow: Flow, pipeline: Pipeline) -> Iterator[TopicName]:
    """Yield where the records of a flow may go."""
    yield pipeline.dead_letters
    for target in pipeline.targets(flow).values():
        if isinstance(target, Topic):
            yield target.kafka_name


def _ensure_not_behind(lanes: LaneSink, flow: FlowName, checkpoint: CheckpointFolder) -> None:
    """Refuse an older copy of a checkpoint.

    Lanes write nothing of a batch before Spark has planned it. So if they are further than the
    plans, Spark would now give the numbers of batches that are written to other records.

    Raises:
        CheckpointBehindError: with both numbers.
    """
    # Entries first: another driver may be planning the next batch.
    entries, query_id = lanes.entries().values(), checkpoint.query_id()
    written = max((it.batch_id for it in entries if it.query_id == query_id), default=-1)
    planned = checkpoint.last_planned()
    if written > (-1 if planned is None else planned):
        raise CheckpointBehindError(
            flow, checkpoint=checkpoint.location, planned=planned, written=written
        )
