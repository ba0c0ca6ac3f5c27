"""A run of a pipeline in the foreground: check it, fit the topics, run its flows, stop them.

The driver is handed in while it is still starting, so that the topics are planned meanwhile. No
topic is touched before every check has passed and the pipeline is this process's to run.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.control.about import about
from penstock.control.errors import FlowsFailedError
from penstock.control.figures import samples_of
from penstock.control.health import Health, HealthServer
from penstock.control.kafka_watch import KafkaWatch
from penstock.control.listening import CommandListener
from penstock.control.order import writers_before
from penstock.control.preparing import prepare
from penstock.control.reloading import LookupWatch
from penstock.control.starting import FlowStarter
from penstock.control.supervised import Restarts
from penstock.control.supervision import FlowState
from penstock.control.supervisor import Supervisor
from penstock.control.verbs import RunCommands
from penstock.engine.events import BatchFinished, FlowStopped, KafkaBack, LookupReloaded
from penstock.events import Emit, StepStarted, ignore
from penstock.monitoring import LagMonitor, ShadowGroups
from penstock.monitoring.clients import client_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.control.claims import Claim
    from penstock.control.errors import LeaseLostError
    from penstock.control.options import RunOptions
    from penstock.control.supervised import Query
    from penstock.engine import SparkDriver
    from penstock.engine.events import Notify, PipelineEvent
    from penstock.engine.lookups import LookupChange
    from penstock.errors import PenstockError
    from penstock.monitoring.catalog import Sample
    from penstock.names import FlowName
    from penstock.pipeline import Flow

STARTING = "starting the flows"


class PipelineRun:
    """One run, from the first check to the last flow's end."""

    def __init__(
        self,
        options: RunOptions,
        driver: SparkDriver,
        claim: Claim,
        *,
        notify: Notify,
        emit: Emit = ignore,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare a run; nothing happens yet.

        Args:
            options: what is to be run.
            driver: Spark, which may still be starting; stays open.
            claim: the claim to run the pipeline, which may still wait for the lease; stays open.
            notify: hears what happens to the flows, from the thread that calls `run`.
            emit: hears of the steps before the flows start.
            on_stop: called once when the first wish to stop is being fulfilled.
        """
        self._options, self._driver, self._claim = options, driver, claim
        self._tell, self._emit, self._on_stop = notify, emit, on_stop
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
            on_stop=self._say_stopping,
            on_rest=self._free_executors,
            after=writers_before(options.pipeline, options.flows) if options.once else None,
        )
        self._commands = RunCommands(options, self._supervisor)
        self._has_lease = False

    @property
    def starts_again(self) -> bool:
        """Whether somebody wants the driver to be started again now that the run has ended."""
        return self._commands.starts_again

    def run(self) -> None:
        """Run until all flows have finished, failed for good, or were stopped.

        Raises:
            PipelineRunningError: another process runs the pipeline; nothing was changed.
            LeaseLostError: another process may run it by now; Spark has been killed.
            InvalidPipelineError: Spark finds problems in the flows; nothing was changed.
            InvalidPlanError: topics cannot become what is declared; nothing was changed.
            FlowsFailedError: flows have failed for good.
            HealthPortTakenError: its health cannot be served.
            PenstockError: Spark or Kafka cannot be used.
        """
        self._claim.guard(self._give_up)
        try:
            with self._health() as address:
                self._run(address)
        except Exception as error:
            # Whatever fails after Spark was killed fails because of that.
            if self._claim.lost is not None:
                raise self._claim.lost from error
            raise

    def stop(self) -> None:
        """Stop after the running batches; called again, at once. For signal handlers too."""
        self._commands.stay_ended()
        self._supervisor.stop()

    def _run(self, health: str | None) -> None:
        self._status = self._claim.await_lease()
        self._has_lease = True
        at_first = FlowState.PENDING if self._options.once else FlowState.STARTING
        self._status.begin([flow.name for flow in self._options.flows], at_first=at_first)
        self._status.describe(health=health)
        self._status.tell_about(about(self._options.pipeline, self._options.settings))
        connection, name = self._options.connection, self._options.pipeline.name
        # Whoever has the lease answers, and nobody else.
        with CommandListener(connection, name, self._commands.carry_out):
            self._warm_up()
            prepare(self._options, self._driver, self._emit)
            spark = self._driver.application()
            self._status.describe(
                spark_application_id=spark.application_id, spark_ui=spark.ui_address
            )
            causes = self._run_flows()
        if causes and not self.starts_again:
            raise FlowsFailedError(causes)

    def _warm_up(self) -> None:
        from penstock.engine.exactly_once.checks import uses_lanes

        if any(uses_lanes(flow, self._options.pipeline) for flow in self._options.flows):
            self._driver.warm_up_lanes()

    @contextmanager
    def _health(self) -> Iterator[str | None]:
        """Serve the health of the driver, if that is wanted; the block gets its address."""
        settings = self._options.settings.pipeline
        if settings.health_port is None:
            yield None
            return
        with HealthServer(
            settings.health_host, settings.health_port, self._look, self._measure
        ) as server:
            yield server.address

    def _look(self) -> Health:
        return Health(
            pipeline=self._options.pipeline.name,
            flows=self._supervisor.states,
            has_begun=self.has_flows,
            silent_seconds=self._supervisor.silent_seconds,
            spark_is_alive=self._driver.is_alive,
            lease_is_held=self._has_lease and self._claim.lost is None,
        )

    def _measure(self) -> list[Sample]:
        return [*samples_of(self._status.record()), *client_samples()] if self._has_lease else []

    def _free_executors(self) -> None:
        self._executors.free(lambda: self._supervisor.is_at_rest)

    def _give_up(self, error: LeaseLostError) -> None:
        """Another process may run the pipeline by now: nothing more may be written."""
        self._driver.kill()
        self._supervisor.abort(error)

    def _say_stopping(self) -> None:
        self._status.stop("it starts again" if self.starts_again else "somebody has stopped it")
        self._on_stop()

    def _run_flows(self) -> dict[FlowName, PenstockError]:
        from penstock.engine.executors import Executors
        from penstock.engine.log_levels import JvmLogLevels

        self._emit(StepStarted(step=STARTING))
        self._executors = Executors(self._driver.session())
        self.has_flows = True
        with (
            FlowStarter(self._options, self._driver, self._receive) as self._starter,
            LookupWatch(
                self._options.pipeline, self._starter.lookups.changes, self._reload
            ) as self._lookups,
            self._groups,
            self._lag,
            self._watch,
            self._commands.during(self._starter, JvmLogLevels(self._driver.session())),
        ):
            return self._supervisor.run()

    def _start(self, name: FlowName) -> Query:
        """Start a flow, in the thread that waits for its end."""
        try:
            self._executors.ensure()
            return self._started(self._options.pipeline.flow(name))
        except Exception:
            # Nobody has noticed the end of the JVM if all flows were at rest.
            self._driver.require_alive()
            raise

    def _started(self, flow: Flow) -> Query:
        start = self._starter.prepare(flow)
        position = start.position(self._starter.topics_read(flow))
        self._lag.begin(flow.name, position)
        self._groups.begin(flow.name, position)
        start.start()
        if not self._options.once:
            self._lookups.use(flow, start.lookup_versions)
        return start

    def _reload(self, flow: FlowName, changes: Sequence[LookupChange]) -> None:
        because = [
            LookupReloaded(
                flow=flow,
                at=datetime.now(UTC),
                lookup=change.lookup,
                old_version=change.old_version,
                new_version=change.new_version,
            )
            for change in changes
        ]
        self._supervisor.reload(flow, because)

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
        self._status.notify(event)
        self._tell(event)
