"""Bounded runs: flows over a range of their topics, one after the other, and then the end."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from penstock.control.order import writers_before
from penstock.control.preparing import prepare
from penstock.control.starting import FlowStarter
from penstock.events import StepFinished, StepStarted, ignore
from penstock.kafka import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.options import RunOptions
    from penstock.engine import SparkDriver
    from penstock.engine.batch import BoundedResult
    from penstock.events import Emit
    from penstock.kafka import StartingPoint
    from penstock.pipeline import Flow


def run_bounded(
    options: RunOptions,
    driver: SparkDriver,
    start: StartingPoint,
    end: StartingPoint,
    *,
    emit: Emit = ignore,
) -> Iterator[BoundedResult]:
    """Run each flow over what lies between `start` and `end` in the topics it reads.

    A flow that reads what another of them writes comes after it. Checkpoints are neither read nor
    written, so running the same range again writes it again.

    Raises:
        PenstockError: what `PipelineRun.run` raises, `NotBoundedError`, or what a flow met.
    """
    prepare(options, driver, emit)
    with (
        FlowStarter(options, driver, lambda _event: None) as starter,
        Admin(options.connection) as admin,
    ):
        for flow in _in_order(options):
            step = f"running `{flow.name}`"
            emit(StepStarted(step=step))
            yield starter.run_bounded(flow, admin, start, end)
            emit(StepFinished(step=step))


def _in_order(options: RunOptions) -> list[Flow]:
    before = writers_before(options.pipeline, options.flows)
    return [options.pipeline.flow(name) for name in TopologicalSorter(before).static_order()]
