"""A run of a pipeline in the foreground: check it, fit the topics, run its flows, stop them.

The driver is handed in while it is still starting, so that the topics are planned meanwhile. No
topic is touched before every check has passed.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from penstock.control.errors import FlowsFailedError
from penstock.control.kafka_watch import KafkaWatch
from penstock.control.order import writers_before
from penstock.control.starting import FlowStarter
from penstock.control.supervisor import Restarts, Supervisor
from penstock.engine.events import BatchFinished, FlowStopped, KafkaBack
from penstock.events import Emit, StepFinished, StepStarted, ignore
from penstock.kafka import Admin
from penstock.monitoring import LagMonitor, ShadowGroups
from penstock.pipeline import InvalidPipelineError
from penstock.plan import apply_stages, describe, plan_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from penstock.control.options import RunOptions
    from penstock.control.supervisor import Query
    from penstock.engine import SparkDriver
    from penstock.engine.events import Notify, PipelineEvent
    from penstock.errors import PenstockError
    from penstock.names import FlowName
    from penstock.plan import Stage, TopicPlan

CHECKING = "checking the flows"
CHANGING = "changing topics"
STARTING = "starting the flows"


class PipelineRun:
    """One run, from the first check to the last flow's end.

    Whoever runs it sees to it with `only_run` that nobody else does; that needs no Spark, so it
    comes before the driver is started.
    """

    def __init__(
        self,
        options: RunOptions,
        driver: SparkDriver,
        *,
        notify: Notify,
        emit: Emit = ignore,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare a run; nothing happens yet.

        Args:
            options: what is to be run.
            driver: Spark, which may still be starting; stays open.
            notify: hears what happens to the flows, from the thread that calls `run`.
            emit: hears of the steps before the flows start.
            on_stop: called once when the first wish to stop is being fulfilled.
        """
        self._options, self._driver = options, driver
        self._tell, self._emit = notify, emit
        self.has_flows = False
        """Whether flows are being run, so that there is something to stop."""
        self._watch = KafkaWatch(options.connection, self._receive)
        self._groups = ShadowGroups(options.connection, options.pipeline.name)
        self._lag = LagMonitor(options.connection, self._receive)
        self._supervisor = Supervisor(
            [flow.name for flow in options.flows],
            self._start,
            restarts=Restarts(policy=options.restart_policy, dice=random.uniform),
            notify=self._notify,
            kafka_is_away=self._watch.is_away,
            on_stop=on_stop,
            after=writers_before(options.pipeline, options.flows) if options.once else None,
        )

    def run(self) -> None:
        """Run until all flows have finished, failed for good, or were stopped.

        Raises:
            InvalidPipelineError: Spark finds problems in the flows; nothing was changed.
            InvalidPlanError: topics cannot become what is declared; nothing was changed.
            FlowsFailedError: flows have failed for good.
            PenstockError: Spark or Kafka cannot be used.
        """
        self._prepare()
        causes = self._run_flows()
        if causes:
            raise FlowsFailedError(causes)

    def stop(self) -> None:
        """Stop after the running batches; called again, at once. For signal handlers too."""
        self._supervisor.stop()

    def _prepare(self) -> None:
        with Admin(self._options.connection) as admin, ThreadPoolExecutor(1) as pool:
            planning = pool.submit(self._plan, admin)
            self._check(self._driver.session())
            plan = planning.result()
            for warning in plan.warnings:
                self._emit(StepFinished(step=warning.message, detail=warning.hint))
            self._change(plan.stages, admin)

    def _plan(self, admin: Admin) -> TopicPlan:
        return plan_topics(admin, self._options.pipeline, self._options.flows)

    def _check(self, session: SparkSession) -> None:
        from penstock.engine.analysis import analyze

        self._emit(StepStarted(step=CHECKING))
        problems = analyze(self._options.pipeline, session, flows=self._options.flows)
        if problems:
            raise InvalidPipelineError(self._options.pipeline.name, problems)
        self._emit(StepFinished(step=CHECKING))

    def _change(self, stages: Sequence[Stage], admin: Admin) -> None:
        """Say what will change, then change it."""
        for stage in stages:
            self._emit(StepFinished(step="planned", detail=describe(stage)))
        if stages:
            self._emit(StepStarted(step=CHANGING))
            apply_stages(stages, admin)
            self._emit(StepFinished(step=CHANGING))

    def _run_flows(self) -> dict[FlowName, PenstockError]:
        self._emit(StepStarted(step=STARTING))
        self.has_flows = True
        with (
            FlowStarter(self._options, self._driver, self._receive) as self._starter,
            self._groups,
            self._lag,
            self._watch,
        ):
            return self._supervisor.run()

    def _start(self, name: FlowName) -> Query:
        """Start a flow, in the thread that waits for its end."""
        flow = self._options.pipeline.flow(name)
        start = self._starter.prepare(flow)
        position = start.position(self._starter.topics_read(flow))
        self._lag.begin(name, position)
        self._groups.begin(name, position)
        start.start()
        return start

    def _receive(self, event: PipelineEvent) -> None:
        self._supervisor.receive(event)

    def _notify(self, event: PipelineEvent) -> None:
        match event:
            case BatchFinished():
                self._lag.note(event)
                self._groups.note(event)
            case FlowStopped(flow=flow):
                self._lag.forget(flow)
            case KafkaBack():
                self._starter.forget_connections()
            case _:
                pass
        self._tell(event)
