"""One start of one flow: everything between "run it" and its end.

    certificate → checks of the checkpoint and the topics → plan of the flow → Spark's query

Every start has a Spark session of its own, because settings and listeners belong to a session.
Starting again after a failure is another `FlowQuery`; when to do that is decided elsewhere.

A process may die between any two steps. The certificate is complete before Spark writes anything,
and topic ids are noted only after the checkpoint has been moved to those topics, so that a start
that did not get to its end is repeated by the next one.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from threading import Condition, Lock
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.errors import utils as pyspark_errors

from penstock.engine.certificates import (
    BirthCertificate,
    CertificateFile,
    MissingCertificateError,
    apply_conf,
    ensure_names_are_new,
    ensure_not_overridden,
    frozen_conf,
)
from penstock.engine.checkpoints import CheckpointFolder
from penstock.engine.contracts.errors import UnknownSchemaIdError
from penstock.engine.data_loss import (
    DataLossError,
    find_loss,
    look_at_topics,
    move_checkpoint,
    reached_offsets,
    with_new_ids,
)
from penstock.engine.dead_letters import write_dead_letters, write_file_dead_letters
from penstock.engine.events import (
    BatchFinished,
    DataLost,
    DeadLettersWritten,
    FlowIdle,
    FlowPlanned,
    FlowStarted,
)
from penstock.engine.exactly_once.checks import uses_lanes
from penstock.engine.exactly_once.keeping import KeptBatches
from penstock.engine.exactly_once.letters import LetterLanes
from penstock.engine.exactly_once.opening import (
    note_lanes_before_loss,
    open_lanes,
    retire_lanes_if_any,
)
from penstock.engine.failure_errors import QueryHangsError
from penstock.engine.failures import Failure, failure_of, query_failure
from penstock.engine.noting import BatchNotes
from penstock.engine.plain_tables import ensure_folders_are_own
from penstock.engine.progress import ProgressFeed, QueryEnded
from penstock.engine.quarantine import MarkFile, Quarantine, QuarantineTask
from penstock.engine.reading import Reader, SourceOptions, apply_flow
from penstock.engine.real_time import slot_problem
from penstock.engine.recounting import Recount
from penstock.engine.second_writers import check_alone, second_writer
from penstock.engine.spark_settings import SHUFFLE_PARTITIONS, shuffle_partitions
from penstock.engine.used_columns import told_subjects
from penstock.engine.writing import count_rows, start_query
from penstock.kafka import await_transactions
from penstock.pipeline import (
    AvailableNow,
    DataLoss,
    Delivery,
    Files,
    Lookup,
    Nondeterminism,
    RealTime,
    Topic,
    guarantees,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.engine.context import PipelineContext
    from penstock.engine.data_loss import TopicState
    from penstock.engine.events import Offsets, PipelineEvent
    from penstock.engine.exactly_once.sink import LaneSink
    from penstock.engine.progress import ProgressEvent
    from penstock.kafka.lanes.ledger import Written
    from penstock.names import DatasetName, TopicName
    from penstock.pipeline import Flow, Trigger

logger = logging.getLogger(__name__)

# What Spark's status says while a batch is under way; there is no other way to know.
_RUNNING = ("Processing new data", "No new data but cleaning up state")

_LAST_EVENT_SECONDS = 10.0
"""How long Spark's last event about a query may take after the query has ended."""


_DRAIN_SECONDS = 30.0
_HASTY_DRAIN_SECONDS = 5.0
"""How long writing the last dead letters may take; what remains is done at the next start."""


class FlowQuery:
    """One start of one flow: call `start` once, and everything else from any thread.

    Emits FlowStarted, BatchFinished, FlowIdle, DeadLettersWritten and DataLost. What a failure
    leads to, and the events about that, are the caller's.
    """

    def __init__(
        self, flow: Flow, context: PipelineContext, *, trigger: Trigger | None = None
    ) -> None:
        """Do nothing yet; `trigger` replaces the flow's own for this run."""
        self.flow = flow
        self.lookup_versions: Mapping[DatasetName, str] = {}
        """The versions of reference data that this start uses; known after `start`."""

        self._context, self._trigger = context, trigger or flow.trigger
        self._pipeline = context.pipeline
        self._session = context.spark.newSession()
        self.checkpoint = CheckpointFolder(context.storage, flow.name)
        self._notes = BatchNotes(flow, context.pipeline.name, context.history, self.checkpoint)
        self._query: StreamingQuery | None = None
        self._changed, self._finishing = Condition(), Lock()
        self._batches_done = 0
        self._resumed: int | None = None
        self._written: dict[int, Written] = {}
        self._recounted: dict[int, tuple[int, dict[str, int]]] = {}
        """What lanes have written of batches whose end was not told yet."""
        self._ended = self._stopping = self._finished = False
        self._failure: Failure | None = None

    def start(self) -> None:
        """Check everything, and start the query.

        Raises:
            PenstockError: the flow cannot be started; `retryable` says whether it may be later.
        """
        try:
            self._start()
        except UnknownSchemaIdError as err:
            self._context.contracts.ask_about(err)
            raise
        except (PySparkException, Py4JError) as err:
            raise failure_of(self.flow.name, err).error from err

    @property
    def query_id(self) -> str:
        """Spark's id of the query, the same at every start on this checkpoint."""
        return str(self._running.id)

    @property
    def is_active(self) -> bool:
        """Whether the query runs."""
        return bool(self._running.isActive)

    @property
    def failure(self) -> Failure | None:
        """Why the query ended; None while it runs, and when it was stopped or had read all.

        Complete once `await_end` has returned True, or a stop has returned.
        """
        return self._failure

    def await_end(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the query has ended, all events are delivered and dead letters are written.

        Returns:
            Whether it has ended within the time.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while not self._wait_for_end(deadline):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            if not self.is_active:
                self._feed.drain(timeout_seconds=_LAST_EVENT_SECONDS)
                break
        # A query that ended by itself is in no hurry; one that was stopped has somebody waiting.
        self._finish(_DRAIN_SECONDS if self._stopping else None)
        return True

    def stop_after_batch(self, timeout_seconds: float) -> bool:
        """Let the running batch be committed, then stop; stop at once when none is running.

        Spark begins to plan the next batch at once, so a plan may stay behind; it is run at the
        next start.

        Returns:
            Whether the batch was committed within the time; it is stopped in any case.

        Raises:
            QueryHangsError: it does not stop.
        """
        with self._changed:
            done = self._batches_done
        committed = True
        if self._is_processing():
            with self._changed:
                committed = self._changed.wait_for(
                    lambda: self._ended or self._batches_done > done, timeout_seconds
                )
        self._stop(_DRAIN_SECONDS)
        return committed

    def stop_now(self) -> None:
        """Stop the query; the running batch is run again at the next start. Safe to repeat.

        Raises:
            QueryHangsError: it does not stop.
        """
        self._stop(_HASTY_DRAIN_SECONDS)

    def _stop(self, drain_seconds: float) -> None:
        self._interrupt()
        self._feed.drain(timeout_seconds=_LAST_EVENT_SECONDS)
        self._finish(drain_seconds)

    def _start(self) -> None:
        activate_session(self._session)
        for key, value in self.flow.conf.items():
            self._session.conf.set(key, value)
        self._pipeline = self._context.contracts.read_by(self._context.pipeline, self.flow)
        check_alone(self.checkpoint, self.flow.name)
        ensure_folders_are_own(
            self._session, self.flow, self._pipeline, self._context.tables, self.checkpoint
        )
        states = look_at_topics(self._context.admin, self._topics)
        self._fit(states)
        if isinstance(self._trigger, AvailableNow):
            # The flow before it may have committed a moment ago what this one is to read.
            places = [item for state in states.values() for item in state.ends]
            await_transactions(self._context.admin, places)
        certificate = self._certificate()
        self._settle_losses(certificate, states)
        certificate = with_new_ids(certificate, states)
        self._certificate_file.save(certificate)
        apply_conf(certificate, self._session)
        self.checkpoint.note_conf(SHUFFLE_PARTITIONS, certificate.conf[SHUFFLE_PARTITIONS])
        self._run(states)

    def _fit(self, states: Mapping[TopicName, TopicState]) -> None:
        """Choose what follows from the number of partitions that this flow reads.

        Raises:
            TooFewTaskSlotsError: a real-time flow needs a task for each partition at once.
        """
        slots = self._session.sparkContext.defaultParallelism
        counts = [len(state.ends) for state in states.values()]
        problem = slot_problem(
            self.flow, self._trigger, partition_count=sum(counts), task_slots=slots
        )
        if problem is not None:
            raise problem
        if SHUFFLE_PARTITIONS not in {**self._context.conf, **self.flow.conf}:
            fitting = shuffle_partitions(slots, max(counts, default=None))
            self._session.conf.set(SHUFFLE_PARTITIONS, str(fitting))

    def _run(self, states: Mapping[TopicName, TopicState]) -> None:
        planned, self._resumed = self.checkpoint.newest_batches()
        self.lookup_versions = self._context.lookups.choose(
            self.flow, replaying=planned != self._resumed
        )
        reader = self._reader()
        frame = apply_flow(self.flow, reader.inputs(self.flow))
        self._quarantine = self._new_quarantine(reader)
        self._quarantine.catch_up(_firsts(states))
        datasets = {topic.kafka_name: topic.name for topic in self._topics}
        self._feed = ProgressFeed(self.flow.name, datasets, self._deliver, self._fail)
        self._session.streams.addListener(self._feed)
        try:
            self._query = self._start_query(frame, reader)
        except BaseException:
            self._release()
            raise
        if self._failure is not None:  # dead letters of the last run could not be written
            self._interrupt()
        self._context.notify(
            FlowStarted(
                flow=self.flow.name,
                at=datetime.now(UTC),
                query_id=self.query_id,
                resumed_batch=self._resumed,
                reads=told_subjects(frame, reader.opened, self._pipeline),
                writes=guarantees(self.flow, self._pipeline),
            )
        )

    def _start_query(self, frame: DataFrame, reader: Reader) -> StreamingQuery:
        contracts, lanes = self._context.contracts, self._lanes(frame)
        recount = Recount(
            self.flow,
            self._context.pipeline.name,
            topics=[reader.topic(topic.name) for topic in self._topics],
            checkpoint=self.checkpoint,
            reader=reader,
            history=self._context.history,
            entries=lanes.entries() if lanes else {},
        )
        self._context.quarantine.submit(recount.note_what_is_missing)
        return start_query(
            frame,
            self.flow,
            contracts.written_by(self._pipeline, self.flow, frame.schema),
            checkpoint=self.checkpoint.location,
            kafka=self._context.kafka,
            tables=self._context.tables,
            trigger=self._trigger,
            lanes=lanes,
            kept=self._kept(),
            on_error=self._note_failure,
        )

    def _lanes(self, frame: DataFrame) -> LaneSink | None:
        if not uses_lanes(self.flow, self._pipeline):
            retire = partial(retire_lanes_if_any, self._pipeline, self._context)
            self._context.quarantine.submit(retire)
            return None
        return open_lanes(
            frame, self.flow, self._pipeline, self._context, on_written=self._written.__setitem__
        )

    def _kept(self) -> KeptBatches | None:
        if self.flow.nondeterministic is not Nondeterminism.PERSIST:
            return None

        def recount(batch_id: int, rows: DataFrame) -> None:
            self._recounted[batch_id] = count_rows(rows, self.flow, self._pipeline)

        return KeptBatches(self._context.storage, self.flow.name, on_replayed=recount)

    @property
    def _topics(self) -> list[Topic]:
        sources = self._context.pipeline.sources(self.flow)
        return [source for source in sources if isinstance(source, Topic)]

    @property
    def _certificate_file(self) -> CertificateFile:
        return CertificateFile(self._context.storage, f"{self.flow.name}.birth.json")

    def _certificate(self) -> BirthCertificate:
        """Return the certificate for this start, checked; a new one if nothing was planned yet."""
        file = self._certificate_file
        found = file.load()
        if not self.checkpoint.exists():
            return self._new_certificate(found)
        if found is None:
            raise MissingCertificateError(file.path, self.checkpoint.location)
        wanted = {**self._context.conf, **self.flow.conf}
        kept = ensure_not_overridden(
            found, wanted, stateful=self.checkpoint.has_state(), origin=self.flow.origin
        )
        sources = self._context.pipeline.sources(self.flow)
        named = {item.name: item.origin for item in sources if not isinstance(item, Lookup)}
        return ensure_names_are_new(kept, self.checkpoint, named)

    def _new_certificate(self, abandoned: BirthCertificate | None) -> BirthCertificate:
        return BirthCertificate(
            pipeline=self._context.pipeline.name,
            flow=self.flow.name,
            created=datetime.now(UTC),
            spark_version=self._session.version,
            conf=frozen_conf(self._session),
            # Spark may have noted first offsets before the start died: they belong to those ids.
            topic_ids=abandoned.topic_ids if abandoned else {},
        )

    def _settle_losses(
        self, certificate: BirthCertificate, states: Mapping[TopicName, TopicState]
    ) -> None:
        for topic in self._topics:
            state = states[topic.kafka_name]
            reached = reached_offsets(self.checkpoint, topic)
            known_id = certificate.topic_ids.get(topic.kafka_name) if reached else None
            loss = find_loss(topic, state, known_id=known_id, reached=reached)
            if loss is None:
                continue
            if topic.on_data_loss is not DataLoss.CONTINUE:
                raise DataLossError(self.flow.name, loss, origin=topic.origin)
            note_lanes_before_loss(self.flow, self._pipeline, self._context)
            move_checkpoint(self.checkpoint, topic, loss)
            self._mark_file.move(self.checkpoint.query_id(), topic.name, loss.moved)
            self._tell(
                DataLost(
                    flow=self.flow.name,
                    at=datetime.now(UTC),
                    topic=topic.kafka_name,
                    reason=loss.reason,
                    lost=loss.lost,
                )
            )

    @property
    def _mark_file(self) -> MarkFile:
        return MarkFile(self._context.storage, f"{self.flow.name}.deadletters.json")

    def _reader(self) -> Reader:
        options = SourceOptions(
            flow=self.flow.name, pipeline=self._pipeline, kafka=self._context.kafka
        )
        lookups = self._context.lookups
        return Reader(
            self._session,
            options,
            tables=self._context.tables,
            lookups=lambda lookup: lookups.input(lookup, self.lookup_versions, self._session),
        )

    def _new_quarantine(self, reader: Reader) -> Quarantine:
        sources = self._context.pipeline.sources(self.flow)
        once = self.flow.delivery is not Delivery.AT_LEAST_ONCE
        task = QuarantineTask(
            flow=self.flow.name,
            topics=tuple(topic.name for topic in self._topics),
            folders=tuple(source.name for source in sources if isinstance(source, Files)),
            checkpoint=self.checkpoint,
            mark_file=self._mark_file,
            lanes=LetterLanes(self.flow.name, self._context) if once else None,
            write_records=partial(write_dead_letters, reader, self.flow),
            write_lines=partial(write_file_dead_letters, reader, self.flow),
            dead_letters=self._context.pipeline.dead_letters,
            notify=self._tell,
            fail=self._fail,
        )
        return Quarantine(task, self._context.quarantine)

    @property
    def _running(self) -> StreamingQuery:
        assert self._query is not None  # noqa: S101 - nobody asks before `start`
        return self._query

    def _is_processing(self) -> bool:
        status = self._running.status
        if bool(status["isTriggerActive"]) and status["message"] in _RUNNING:
            return True
        # A batch is planned a moment before the status tells of it.
        return self.is_active and self.checkpoint.last_planned() != self.checkpoint.last_committed()

    def _wait_for_end(self, deadline: float | None) -> bool:
        left = 1.0 if deadline is None else min(1.0, max(0.0, deadline - time.monotonic()))
        with self._changed:
            return self._changed.wait_for(lambda: self._ended, left)

    def _deliver(self, event: ProgressEvent) -> None:
        """Called by the feed's thread."""
        match event:
            case BatchFinished():
                written = self._written.pop(event.batch_id, None)
                event = self._with_written(event, written)
                if isinstance(self._trigger, RealTime):
                    event = _without_times(event)
                self._notes.note(event, written)
                self._quarantine.look_at(event)
                self._context.notify(event)
                self._tell_refused(event)
                with self._changed:
                    self._batches_done += 1
                    is_first = self._batches_done == 1
                    self._changed.notify_all()
                if is_first:
                    self._tell_plan()
            case FlowIdle():
                self._context.notify(event)
            case QueryEnded():
                with self._changed:
                    self._ended = True
                    self._changed.notify_all()

    def _tell_plan(self) -> None:
        try:
            plan = self._running._jsq.explainInternal(False)  # noqa: SLF001, FBT003 - PySpark prints it
        except (PySparkException, Py4JError):  # the flow does not need it
            logger.warning("no plan", extra={"flow": self.flow.name}, exc_info=True)
            return
        self._context.notify(FlowPlanned(flow=self.flow.name, at=datetime.now(UTC), plan=plan))

    def _tell(self, event: PipelineEvent) -> None:
        self._notes.note_event(event)
        self._context.notify(event)

    def _with_written(self, batch: BatchFinished, written: Written | None) -> BatchFinished:
        """Return `batch` with what was kept, and the lanes have counted, in place of Spark's."""
        if (recounted := self._recounted.pop(batch.batch_id, None)) is not None:
            rows, tables = recounted
            told = {**batch.written, **tables}
            batch = replace(batch, produced=rows, output_rows=rows, written=told)
        if written is None:
            return batch
        if not written.is_as_returned:
            batch = replace(batch, produced=None)
        targets = self._pipeline.targets(self.flow).values()
        topics = {target.kafka_name for target in targets if isinstance(target, Topic)}
        lost = self._pipeline.dead_letters
        told = {name: 0 if name in {*topics, lost} else n for name, n in batch.written.items()}
        told |= {str(name): count for name, count in written.counts.items()}
        return replace(
            batch,
            output_rows=sum(count for name, count in told.items() if name != lost),
            refused_rows=told.get(lost, 0),
            written=told,
        )

    def _tell_refused(self, batch: BatchFinished) -> None:
        if batch.refused_rows:
            self._context.notify(
                DeadLettersWritten(
                    flow=self.flow.name,
                    at=batch.at,
                    dataset=next(iter(self.flow.targets.values())),
                    topic=self._context.pipeline.dead_letters,
                    batch_id=batch.batch_id,
                    count=batch.refused_rows,
                )
            )

    def _fail(self, error: Exception) -> None:
        """Stop because work beside the query failed; called by the threads that do it."""
        self._failure = self._failure or failure_of(self.flow.name, error)
        if self._query is not None:
            try:
                self._interrupt()
            except QueryHangsError:
                logger.exception("query does not stop", extra={"flow": self.flow.name})

    def _note_failure(self, error: Exception) -> None:
        """Keep what failed a batch; a batch also fails when its query is stopped in the middle."""
        if not self._stopping:
            self._failure = self._failure or failure_of(self.flow.name, error)

    def _interrupt(self) -> None:
        if self._running.isActive:
            self._stopping = True
        try:
            self._running.stop()
        except (PySparkException, Py4JError) as err:
            reason = failure_of(self.flow.name, err).error.message
            raise QueryHangsError(self.flow.name, reason) from err

    def _finish(self, drain_seconds: float | None) -> None:
        """Do once what remains after the end."""
        with self._finishing:
            if self._finished:
                return
            self._finished = True
            if not self._quarantine.drain(timeout_seconds=drain_seconds):
                logger.warning(
                    "dead letters left for the next start", extra={"flow": self.flow.name}
                )
            if self._failure is None and not self._stopping:
                self._failure = query_failure(self.flow.name, self._running)
            self._look_for_second_writer()
            if self._failure and isinstance(self._failure.error, UnknownSchemaIdError):
                self._context.contracts.ask_about(self._failure.error)
            self._release()

    def _look_for_second_writer(self) -> None:
        if self._failure is not None:
            another = second_writer(
                self.checkpoint, self.flow.name, self._running, resumed=self._resumed
            )
            if another is not None:
                self._failure = failure_of(self.flow.name, another)

    def _release(self) -> None:
        self._session.streams.removeListener(self._feed)
        self._feed.close()


def _without_times(batch: BatchFinished) -> BatchFinished:
    """Real time passes records on long before their batch ends: its end tells no latency."""
    return replace(batch, sources=tuple(replace(source, times=None) for source in batch.sources))


def activate_session(session: SparkSession) -> None:
    """Make `session` that of this thread, so that PySpark notes the user's lines in expressions.

    PySpark decides once per process whether to note them, by whether its first expression found
    an active session; it is made to decide again.
    """
    java_session = session._jsparkSession  # noqa: SLF001 - PySpark has no other way
    java_session.setActiveSession(java_session)
    pyspark_errors._enable_debugging_cache = None  # noqa: SLF001 - as above


def _firsts(states: Mapping[TopicName, TopicState]) -> Offsets:
    return {item: first for state in states.values() for item, first in state.firsts.items()}
