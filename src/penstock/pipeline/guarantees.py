"""What a flow offers each of its targets: how often a row is there after a failure."""

from collections.abc import Mapping
from enum import StrEnum

from penstock.names import DatasetName
from penstock.pipeline.datasets import Dataset, Table, TableFormat, Topic
from penstock.pipeline.flows import Delivery, Flow, RealTime
from penstock.pipeline.pipeline import Pipeline


class Guarantee(StrEnum):
    """How often what a flow wrote is found, after any number of failures, in words for users."""

    EXACTLY_ONCE = "exactly once"
    """Readers of topics must ask for committed records."""

    IDEMPOTENT = "idempotent by key"
    """A row may be written again, and then replaces itself."""

    AT_LEAST_ONCE = "at least once"
    AT_MOST_ONCE = "at most once"


_OF_TOPICS = {
    Delivery.EXACTLY_ONCE: Guarantee.EXACTLY_ONCE,
    Delivery.AT_LEAST_ONCE: Guarantee.AT_LEAST_ONCE,
    Delivery.AT_MOST_ONCE: Guarantee.AT_MOST_ONCE,
}


def guarantees(flow: Flow, pipeline: Pipeline) -> Mapping[DatasetName, Guarantee]:
    """Return what `flow` offers each dataset that it writes."""
    return {target.name: guarantee(flow, target) for target in pipeline.targets(flow).values()}


def guarantee(flow: Flow, target: Dataset) -> Guarantee:
    """Return what `flow` offers `target`, which it writes.

    Batches count, on one checkpoint: a new one is a new beginning.
    """
    match target:
        case Topic():
            is_real_time = isinstance(flow.trigger, RealTime)
            return Guarantee.AT_LEAST_ONCE if is_real_time else _OF_TOPICS[flow.delivery]
        case Table():
            return _of_table(flow, target)
        case _:  # a sink: what Spark has for its format may repeat a batch
            return Guarantee.AT_LEAST_ONCE


def _of_table(flow: Flow, table: Table) -> Guarantee:
    if flow.changes is not None:
        return Guarantee.IDEMPOTENT
    if flow.is_routed and table.format is not TableFormat.DELTA:
        return Guarantee.AT_LEAST_ONCE  # batches are added to the folder, which takes no notes
    if flow.is_routed and flow.delivery is Delivery.AT_LEAST_ONCE:
        return Guarantee.AT_LEAST_ONCE  # a row may take another route when it is written again
    return Guarantee.EXACTLY_ONCE
