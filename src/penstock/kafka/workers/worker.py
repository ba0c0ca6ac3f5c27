"""Workers: a handler that is called for every record of a topic, with retries and a clean end.

A worker commits a record after its handler has returned: at least once. With `offsets`, results and
offset commit in one database transaction (`stored_offsets.py`): exactly once. A record that
fails for good stops the worker, or goes to a dead-letter topic; none is skipped silently.

The handler runs in the thread that called `run`, one record at a time. To handle more at once, run
more workers of the same group: each gets a share of the partitions.
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, overload

from penstock.errors import UsageError
from penstock.kafka.admin import Admin
from penstock.kafka.connection import Connection
from penstock.kafka.consumer.commits import Automatic
from penstock.kafka.consumer.consumer import Consumer
from penstock.kafka.consumer.errors import CommitFailedError, PollIntervalExceededError
from penstock.kafka.consumer.membership import Start
from penstock.kafka.consumer.stopping import stopping_on_signals
from penstock.kafka.producer.producer import Producer
from penstock.kafka.workers.dead_letters import dead_letter
from penstock.kafka.workers.handling import (
    HandlerFailedError,
    HandlerRaised,
    OffsetStoreFailedError,
    PlainHandling,
    TransactionalHandling,
)
from penstock.kafka.workers.health import WorkerHealth, WorkerState, served_health
from penstock.kafka.workers.options import InvalidWorkerError, WorkerOptions
from penstock.kafka.workers.stored_offsets import OffsetMovedError, OffsetStore, Transaction
from penstock.names import GroupId, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.kafka.consumer.commits import CommitPolicy
    from penstock.kafka.offsets import TopicPartition
    from penstock.kafka.records import Record
    from penstock.kafka.workers.handling import Handling

logger = logging.getLogger(__name__)

AUTOMATIC = Automatic()

# The dead-letter topic's own limit decides; the client's would refuse what only just fitted.
_DEAD_LETTER_MAX_BYTES = 100_000_000
_POLL_SECONDS = 1.0
_LAG_EVERY_SECONDS = 1.0


class WorkerRunningError(UsageError):
    """The worker runs already."""

    code = "PEN-497"

    def __init__(self, handler: str) -> None:
        super().__init__(
            f"worker `{handler}` runs already",
            hint="to share the work, run it in another process; each gets part of the partitions",
        )


class _StopRequested(Exception):  # noqa: N818 - ends a wait between retries; never leaves `run`
    """The worker shall stop, and the record in hand has not been handled."""


class Worker:
    """Hosts a handler over topics. Made by `worker`; calling it calls the handler.

    `run` blocks until `stop` is called, SIGINT or SIGTERM comes, or a record fails for good.
    """

    def __init__(
        self,
        handler: Callable[..., None],
        options: WorkerOptions,
        offsets: OffsetStore[Any] | None,
    ) -> None:
        if inspect.iscoroutinefunction(handler):
            raise InvalidWorkerError(
                reason=f"`{handler.__name__}` is asynchronous", hint="write a plain function"
            )
        self.options = options
        self._handler, self._offsets = handler, offsets
        self.name = f"{handler.__module__}.{handler.__qualname__}"
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._state = WorkerState.IDLE
        self._consumer: Consumer | None = None
        self._handled = self._failed_attempts = self._dead_lettered = self._overtaken = 0
        self._partitions: tuple[TopicPartition, ...] = ()
        self._lag: int | None = None
        self._next_lag = 0.0
        self._last_record_at: datetime | None = None
        self._in_hand_since: float | None = None
        self._failure: str | None = None
        self.health_port: int | None = None
        """Where health is served; it tells which port was taken when 0 was asked for."""

    def __call__(self, *arguments: Any) -> None:  # noqa: ANN401 - the handler's own arguments
        """Call the handler itself, as a test of it does."""
        self._handler(*arguments)

    def run(self, connection: Connection | str, *, health_port: int | None = None) -> None:
        """Handle records until the worker is stopped.

        In the main thread SIGINT and SIGTERM stop it; a second signal acts as if there were no
        worker. Stopping finishes the record in hand, commits once and leaves the group.

        Args:
            connection: the cluster, or its bootstrap addresses.
            health_port: where to answer `GET /health` and `GET /metrics` on this machine; 0: on a
                free port, which the attribute `health_port` tells; None: nowhere.

        Raises:
            HandlerFailedError: a record failed for good and there is no dead-letter topic.
                Everything before it is committed.
            OffsetStoreFailedError: the database failed, retries included.
            WorkerRunningError: it runs already.
            ClusterError: a topic does not exist, an offset is gone, or what else the cluster says.
        """
        if isinstance(connection, str):
            connection = Connection(bootstrap=connection)
        if not self._lock.acquire(blocking=False):
            raise WorkerRunningError(self.name)
        try:
            self._reset()
            with self._stopped_by_signals(), self._health_served(health_port):
                self._live(connection)
        finally:
            self._stopping.clear()
            self._lock.release()

    def stop(self) -> None:
        """Ask the worker to finish the record in hand, commit and leave. Returns at once.

        May be called from any thread. A worker that does not run yet ends as soon as it runs.
        """
        if self._state in (WorkerState.STOPPED, WorkerState.FAILED):
            return
        self._stopping.set()
        consumer = self._consumer
        if consumer is not None:
            consumer.stop()

    def health(self) -> WorkerHealth:
        """Return what the worker is doing now. May be called from any thread."""
        since = self._in_hand_since
        limit = self.options.max_handling_seconds
        is_stopping = self._stopping.is_set() and self._state is WorkerState.RUNNING
        return WorkerHealth(
            state=WorkerState.STOPPING if is_stopping else self._state,
            topics=self.options.topics,
            group=self.options.group,
            handled=self._handled,
            failed_attempts=self._failed_attempts,
            dead_lettered=self._dead_lettered,
            overtaken=self._overtaken,
            partitions=self._partitions,
            lag=self._lag,
            last_record_at=self._last_record_at,
            overdue=since is not None and time.monotonic() - since > limit,
            failure=self._failure,
        )

    def _live(self, connection: Connection) -> None:
        self._state = WorkerState.STARTING
        try:
            self._handle_all(connection)
        except _StopRequested:
            pass
        except BaseException as err:
            self._failure = str(err) or type(err).__name__
            self._state = WorkerState.FAILED
            raise
        finally:
            self._consumer, self._partitions = None, ()
        self._state = WorkerState.STOPPED
        logger.info("worker stopped", extra={"worker": self.name, "handled": self._handled})

    def _handle_all(self, connection: Connection) -> None:
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(connection))
            letters = self._dead_letter_producer(stack, admin)
            handling = self._handling(admin)
            stack.callback(handling.close)
            handling.open()
            consumer = self._consumer = self._new_consumer(connection, handling)
            with consumer:
                self._state = WorkerState.RUNNING
                logger.info("worker started", extra={"worker": self.name})
                while not self._stopping.is_set():
                    self._poll_once(consumer, handling, letters)

    def _poll_once(self, consumer: Consumer, handling: Handling, letters: Producer | None) -> None:
        try:
            record = consumer.poll(_POLL_SECONDS)
        except (CommitFailedError, PollIntervalExceededError) as err:
            # The group went on without this worker; what it had not committed comes again.
            logger.warning("partitions were lost", extra={"worker": self.name, "fault": str(err)})
            return
        self._note_lag(consumer)
        if record is None:
            return
        self._last_record_at = datetime.now(UTC)
        self._in_hand_since = time.monotonic()
        try:
            self._handle(record, handling, letters)
        except OffsetMovedError as moved:
            logger.warning(
                "another worker has moved the stored offset",
                extra={"worker": self.name, "partition": str(moved.partition)},
            )
            self._overtaken += 1
            handling.catch_up(consumer, moved.partition)
        finally:
            self._in_hand_since = None

    def _handle(self, record: Record, handling: Handling, letters: Producer | None) -> None:
        try:
            self._attempt_with_retries(record, handling)
        except HandlerFailedError as failed:
            if letters is None or self.options.dead_letters is None:
                raise
            cause = failed.__cause__
            letters.send_record_and_wait(
                dead_letter(
                    record,
                    topic=self.options.dead_letters,
                    group=self.options.group,
                    handler=self.name,
                    error=failed if cause is None else cause,
                )
            )
            handling.skip(record)
            self._dead_lettered += 1
            logger.warning(
                "a record became a dead letter",
                extra={"worker": self.name, "topic": record.topic, "fault": str(failed)},
            )
        else:
            self._handled += 1

    def _attempt_with_retries(self, record: Record, handling: Handling) -> None:
        for attempts, delay in enumerate((*self.options.retry_delays(), None), start=1):
            try:
                return handling.attempt(record)
            except HandlerRaised as raised:
                self._failed_attempts += 1
                if delay is None or not isinstance(raised.error, self.options.retry_on):
                    raise HandlerFailedError(
                        record, handler=self.name, attempts=attempts, error=raised.error
                    ) from raised.error
                self._log_retry(record, raised.error)
            except OffsetStoreFailedError as failed:
                if delay is None:
                    raise
                self._log_retry(record, failed)
            if self._stopping.wait(delay):
                raise _StopRequested
        return None

    def _log_retry(self, record: Record, error: Exception) -> None:
        logger.warning(
            "a record failed and is tried again",
            extra={
                "worker": self.name,
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "fault": type(error).__name__,
            },
        )

    def _handling(self, admin: Admin) -> Handling:
        if self._offsets is None:
            return PlainHandling(self._handler)
        return TransactionalHandling(
            self._handler,
            self._offsets,
            group=self.options.group,
            start=self.options.start,
            admin=admin,
        )

    def _dead_letter_producer(self, stack: ExitStack, admin: Admin) -> Producer | None:
        topic = self.options.dead_letters
        if topic is None:
            return None
        known = admin.metadata().topics
        if topic not in known:
            raise admin.absence(topic, f"write to `{topic}`", known=known)
        return stack.enter_context(
            Producer(admin.connection, max_record_bytes=_DEAD_LETTER_MAX_BYTES)
        )

    def _new_consumer(self, connection: Connection, handling: Handling) -> Consumer:
        def begin(partitions: tuple[TopicPartition, ...]) -> None:
            if self._consumer is not None:
                handling.begin(self._consumer, partitions)

        return Consumer(
            connection,
            self.options.topics,
            group=self.options.group,
            start=self.options.start,
            commit=self.options.commit,
            max_poll_interval_seconds=self.options.max_handling_seconds,
            session_timeout_seconds=min(45.0, self.options.max_handling_seconds),
            on_assigned=begin,
        )

    def _note_lag(self, consumer: Consumer) -> None:
        if time.monotonic() >= self._next_lag:
            self._partitions = consumer.assignment()
            self._lag = consumer.lag()
            self._next_lag = time.monotonic() + _LAG_EVERY_SECONDS

    @contextmanager
    def _health_served(self, port: int | None) -> Iterator[None]:
        if port is None:
            yield
            return
        with served_health(port, self.health) as self.health_port:
            yield

    def _stopped_by_signals(self) -> AbstractContextManager[None]:
        if threading.current_thread() is not threading.main_thread():
            return nullcontext()  # Python hands signals to the main thread alone
        return stopping_on_signals(self)


@overload
def worker(
    topics: str | Sequence[str],
    *,
    group: str,
    retries: int = ...,
    retry_on: type[Exception] | tuple[type[Exception], ...] = ...,
    retry_delay_seconds: float = ...,
    dead_letters: str | None = ...,
    start: Start = ...,
    commit: CommitPolicy = ...,
    max_handling_seconds: float = ...,
) -> Callable[[Callable[[Record], None]], Worker]: ...


@overload
def worker(
    topics: str | Sequence[str],
    *,
    group: str,
    offsets: OffsetStore[Transaction],
    retries: int = ...,
    retry_on: type[Exception] | tuple[type[Exception], ...] = ...,
    retry_delay_seconds: float = ...,
    dead_letters: str | None = ...,
    start: Start = ...,
    commit: CommitPolicy = ...,
    max_handling_seconds: float = ...,
) -> Callable[[Callable[[Record, Transaction], None]], Worker]: ...


def worker(
    topics: str | Sequence[str],
    *,
    group: str,
    offsets: OffsetStore[Any] | None = None,
    retries: int = 3,
    retry_on: type[Exception] | tuple[type[Exception], ...] = Exception,
    retry_delay_seconds: float = 0.5,
    dead_letters: str | None = None,
    start: Start = Start.EARLIEST,
    commit: CommitPolicy = AUTOMATIC,
    max_handling_seconds: float = 300.0,
) -> Callable[[Callable[..., None]], Worker]:
    """Make a function the handler of a worker.

        @ps.worker("orders", group="billing", dead_letters="orders.dead")
        def bill(record: ps.Record) -> None: ...

        bill.run("127.0.0.1:9092")

    Args:
        topics: one topic or several.
        group: shares the partitions among the workers that name it.
        offsets: keeps offsets where the handler writes its results. The handler then takes the
            open transaction as its second argument, and must not commit it.
        retries: how often a record is tried again before it counts as failed for good.
        retry_on: which exceptions of the handler are worth a retry.
        retry_delay_seconds: the wait before the first retry; it doubles, up to half a minute.
        dead_letters: the topic for records that failed for good; it must exist. None: the worker
            stops at such a record.
        start: where to begin when the group has no offset yet.
        commit: when to commit to Kafka. With `offsets` this only makes lag visible.
        max_handling_seconds: how long one record may take, retries included. After that the group
            gives the partitions to others, and the record comes again there. Python cannot
            interrupt a handler, so set it above the longest time you expect.

    Raises:
        InvalidWorkerError: the arguments do not fit together.
    """
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    options = WorkerOptions(
        topics=tuple(TopicName(name) for name in names),
        group=GroupId(group),
        retries=retries,
        retry_on=retry_on if isinstance(retry_on, tuple) else (retry_on,),
        retry_delay_seconds=retry_delay_seconds,
        dead_letters=None if dead_letters is None else TopicName(dead_letters),
        start=start,
        commit=commit,
        max_handling_seconds=max_handling_seconds,
    )

    def host(handler: Callable[..., None]) -> Worker:
        return Worker(handler, options, offsets)

    return host
