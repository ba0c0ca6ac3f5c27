"""Before flows run: Spark checks all of them, and topics become what is declared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

from penstock.control.registry import contracts_of
from penstock.events import StepFinished, StepStarted
from penstock.kafka import Admin
from penstock.pipeline import InvalidPipelineError
from penstock.plan import apply_stages, describe, plan_topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from penstock.control.options import RunOptions
    from penstock.engine import SparkDriver
    from penstock.events import Emit
    from penstock.plan import Stage

CHECKING = "checking the flows"
CHANGING = "changing topics"


def prepare(options: RunOptions, driver: SparkDriver, emit: Emit) -> None:
    """Check the flows and fit the topics; no topic is touched before every check has passed.

    The topics are planned while Spark is still starting.

    Raises:
        InvalidPipelineError: Spark finds problems in the flows; nothing was changed.
        InvalidPlanError: topics cannot become what is declared; nothing was changed.
        PenstockError: Spark or Kafka cannot be used.
    """
    with Admin(options.connection) as admin, ThreadPoolExecutor(1) as pool:
        planning = pool.submit(plan_topics, admin, options.pipeline, options.flows)
        _check(options, driver.session(), emit)
        plan = planning.result()
        for warning in plan.warnings:
            emit(StepFinished(step=warning.message, detail=warning.hint))
        _change(plan.stages, admin, emit)


def _check(options: RunOptions, session: SparkSession, emit: Emit) -> None:
    from penstock.engine.analysis import analyze

    emit(StepStarted(step=CHECKING))
    with closing(contracts_of(options.pipeline, options.settings, session)) as contracts:
        problems = analyze(options.pipeline, session, contracts=contracts, flows=options.flows)
    if problems:
        raise InvalidPipelineError(options.pipeline.name, problems)
    emit(StepFinished(step=CHECKING))


def _change(stages: Sequence[Stage], admin: Admin, emit: Emit) -> None:
    """Say what will change, then change it."""
    for stage in stages:
        emit(StepFinished(step="planned", detail=describe(stage)))
    if stages:
        emit(StepStarted(step=CHANGING))
        apply_stages(stages, admin)
        emit(StepFinished(step=CHANGING))
