"""Getting ready to write by lanes, at each start of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.checkpoints import CheckpointFolder
from penstock.engine.exactly_once.checks import delivery_problems
from penstock.engine.exactly_once.lane_plan import is_by_order
from penstock.engine.exactly_once.sink import BegunBatch, LaneSink
from penstock.pipeline import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from penstock.engine.context import PipelineContext
    from penstock.kafka.lanes.ledger import Counts
    from penstock.names import FlowName
    from penstock.pipeline import Flow, Pipeline

_ADAPTIVE = "spark.sql.adaptive.streaming.stateless.enabled"


def open_lanes(
    frame: DataFrame,
    flow: Flow,
    pipeline: Pipeline,
    context: PipelineContext,
    *,
    on_written: Callable[[int, Counts], None],
) -> LaneSink:
    """Return what writes the batches of `frame` to topics, no record twice.

    Args:
        frame: what the function of the flow made of its streams.
        flow: one that uses lanes.
        pipeline: with contracts for what the flow reads.
        context: what the flows of the pipeline share.
        on_written: is told of each batch how many records it has for each topic.

    Raises:
        PenstockError: the flow cannot be written so, or the ledger cannot be read.
    """
    for problem in delivery_problems(frame, flow, pipeline):
        raise problem
    # Lanes must be the same when a batch is run again; Spark would join small ones as it likes.
    frame.sparkSession.conf.set(_ADAPTIVE, "false")

    def is_needed(name: FlowName) -> bool:
        declared = any(item.name == name for item in pipeline.flows)
        return declared or CheckpointFolder(context.storage, name).exists()

    context.ledger.retire(pipeline.name, is_needed)
    gives_up = flow.delivery is Delivery.AT_MOST_ONCE
    return LaneSink(
        pipeline.name,
        flow.name,
        context.ledger.table(),
        by_content=is_by_order(frame),
        on_written=on_written,
        begun=BegunBatch(context.storage, flow.name) if gives_up else None,
    )
