"""The reader inside a consumer: fetches records, follows rebalances, and sends commits.

What callers see, and what they may rely on, is in `consumer.py`. Here the client's messages and
errors become ours.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future, wait
from itertools import islice
from typing import TYPE_CHECKING

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, KafkaException

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.client_figures import STATISTICS_SECONDS, Statistics
from penstock.kafka.complaints import client_logger
from penstock.kafka.consumer.assignment import (
    Assignment,
    client_partitions,
    first_error,
    partition_of,
)
from penstock.kafka.consumer.commits import AsyncCommits, Progress, Schedule
from penstock.kafka.consumer.errors import (
    OffsetOutOfRangeError,
    PollIntervalExceededError,
    client_fault,
    commit_fault,
    is_out_of_range,
)
from penstock.kafka.consumer.messages import record_of
from penstock.kafka.errors import (
    AuthenticationFailedError,
    ClusterError,
    NotAuthorizedError,
    UnknownTopicError,
)
from penstock.kafka.offsets import Isolation, TopicPartition, end_offsets, first_offsets
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from confluent_kafka import Message
    from confluent_kafka import TopicPartition as ClientPartition
    from confluent_kafka.admin._metadata import TopicMetadata

    from penstock.kafka.connection import Connection
    from penstock.kafka.consumer.assignment import RebalanceHooks
    from penstock.kafka.consumer.commits import CommitPolicy, Offsets, OnCommitted
    from penstock.kafka.consumer.membership import Membership, Start
    from penstock.kafka.consumer.subscription import Subscription
    from penstock.kafka.records import Record

logger = logging.getLogger(__name__)

# A stop is noticed, and a due commit sent, within this time, also while no record comes.
SLICE_SECONDS = 0.1
# New topics that match a pattern, and new partitions, are found within this time.
_SCAN_SECONDS = 5.0
_SCAN_TIMEOUT_SECONDS = 1.0  # a scan that fails is repeated, and reading goes on meanwhile
# The client reports each attempt to connect; one line in this time tells enough.
_WARNING_SECONDS = 60.0
# Without a group there is nothing to leave, so that nobody has to wait for a cluster that is away.
_CLOSE_SECONDS = 1.0


class Reader:
    """Fetches the records of one consumer. One thread uses it; `is_stopping` is set by any."""

    def __init__(
        self,
        connection: Connection,
        subscription: Subscription | None,
        *,
        membership: Membership,
        start: Start | None,
        isolation: Isolation,
        policy: CommitPolicy,
        hooks: RebalanceHooks,
        clock: Callable[[], float],
    ) -> None:
        self.admin = Admin(connection)
        self.progress = Progress()
        self.is_stopping = False
        self._membership = membership
        self._subscription = subscription
        self._subscribed: tuple[TopicName, ...] = ()
        self._schedule = Schedule(policy, clock)
        self._async = AsyncCommits(self._send_commit)
        self._fetched: deque[Record] = deque()
        self._fault: ClusterError | None = None
        self._next_look = self._next_scan = self._next_warning = time.monotonic()
        known = self.admin.metadata().topics
        self.statistics = Statistics()
        self._client = Client(self._client_config(isolation))
        self.assignment = Assignment(
            self._client,
            self.admin,
            membership=membership,
            start=start,
            isolation=isolation,
            progress=self.progress,
            hooks=hooks,
            release=self._release,
            forget=self._forget,
        )
        try:
            if subscription is not None:
                self._follow(subscription, known)
        except UnknownTopicError as unknown:
            self._let_go()
            raise self.admin.absence(
                unknown.topic, f"read `{unknown.topic}`", known=known
            ) from None
        except PenstockError:
            self._let_go()
            raise

    def await_record(self, timeout_seconds: float) -> Record | None:
        """Return the next record, or None after the time or a stop; it is not handed out yet."""
        self.settle()
        deadline = time.monotonic() + timeout_seconds
        while not self.is_stopping:
            left = deadline - time.monotonic()
            record = self.take(max(0.0, min(left, SLICE_SECONDS)))
            if record is not None or left <= 0:
                return record
        return None

    def take(self, timeout_seconds: float) -> Record | None:
        """Return a record if one comes within one short wait; it is not handed out yet."""
        if self._fetched:
            return self._fetched.popleft()
        # Before and not after the poll: what is raised here must not cost a record.
        self._look_around()
        message = self._client.poll(timeout_seconds)
        return None if message is None else self._received(message)

    def gather(self, first: Record, limit: int) -> list[Record]:
        """Return `first` and what has been fetched already, up to `limit`; nothing handed out."""
        # Kept in a place where a rebalance can take out the records of partitions that are gone,
        # and where they outlast an error, which would otherwise cost the records before it.
        self._fetched.appendleft(first)
        while len(self._fetched) < limit:
            message = self._client.poll(0)
            if message is None:
                break
            record = self._received(message)
            if record is not None:
                self._fetched.append(record)
        gathered = [*islice(self._fetched, limit)]
        for _ in gathered:
            self._fetched.popleft()
        return gathered

    def hand_out(self, record: Record) -> None:
        """Note that the caller gets `record`."""
        self.progress.hand_out(TopicPartition(record.topic, record.partition), record.offset)

    def seek(self, partition: TopicPartition, offset: Offset) -> None:
        """Go on at `offset`."""
        self.assignment.seek(partition, offset)
        self._drop_fetched([partition])

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Hand out nothing of these partitions until they are resumed."""
        self.assignment.pause(partitions)
        for partition in partitions:
            if self._drop_fetched([partition]):
                self.assignment.rewind(partition)

    def lag(self) -> int | None:
        """Return the offsets between positions and ends; None while an end is not known."""
        total = 0
        for partition in self.assignment.partitions:
            position = self.progress.position(partition)
            (item,) = client_partitions({partition: None})
            _, end = self._client.get_watermark_offsets(item, cached=True)
            if position is None or end < 0:
                return None
            total += max(0, end - position)
        return total

    def settle(self) -> None:
        """Count what was handed out as processed, and commit if that is due."""
        self.progress.settle()
        self._commit_if_due()

    def commit_now(self, offsets: Offsets) -> None:
        """Commit `offsets` and wait for the answer."""
        self._schedule.restart()
        if not offsets:
            return
        self._async.supersede(offsets)
        try:
            answers = self._client.commit(offsets=client_partitions(offsets), asynchronous=False)
        except KafkaException as err:
            raise self._commit_fault(err.args[0], offsets) from err
        error = first_error(answers)
        if error is not None:
            raise self._commit_fault(error, offsets)
        self.progress.note_committed(offsets)

    def commit_soon(self, offsets: Offsets, on_complete: OnCommitted | None = None) -> None:
        """Commit `offsets` without waiting."""
        self._schedule.restart()
        if offsets:
            self.progress.note_committed(offsets)
            self._async.issue(offsets, on_complete)
        elif on_complete is not None:
            on_complete(offsets, None)

    def close(self) -> None:
        """Commit what is processed, leave the group and let the client go."""
        self.is_stopping = True
        try:
            self.assignment.leave()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Close the client; one that finds no broker ends by itself, after this has returned."""
        self.statistics.end()
        group = self._membership.group
        seconds = _CLOSE_SECONDS if group is None else self.admin.timeout_seconds
        if not closes_within(self._client, seconds) and group is not None:
            logger.warning("the group was not left in time", extra={"group": group})

    def _client_config(self, isolation: Isolation) -> dict[str, object]:
        return {
            **self.admin.connection.client_config(),
            **self._membership.client_config(),
            "auto.offset.reset": "error",  # where to begin is decided by `Assignment`
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "isolation.level": isolation.value,
            "topic.metadata.refresh.interval.ms": int(_SCAN_SECONDS * 1000),
            "log_level": 0,
            "logger": client_logger,  # what is fatal is logged at any level
            "error_cb": self._on_client_error,
            "statistics.interval.ms": round(STATISTICS_SECONDS * 1000),
            "stats_cb": self.statistics.note,
            "on_commit": self._on_commit,
        }

    def _received(self, message: Message) -> Record | None:
        error = message.error()
        if error is None:
            return record_of(message)
        partition = TopicPartition(
            TopicName(message.topic() or ""), Partition(message.partition() or 0)
        )
        offset = Offset(message.offset() or 0)
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
            self.progress.pass_by(partition, offset)
            return None
        if self._is_moot(error):
            return None
        self._meet(self._reading_fault(error, partition, offset))
        return None

    def _is_moot(self, error: KafkaError) -> bool:
        # The client looks for a coordinator also when no group is joined: it may be refused.
        without_group = self._membership.group is None
        return without_group and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED

    @property
    def _action(self) -> str:
        group = self._membership.group
        return f"let group `{group}` read" if group else "let this client read"

    def _meet(self, fault: ClusterError) -> None:
        """Raise `fault`, unless the client gets over it by itself."""
        passes = fault.retryable and not isinstance(fault, PollIntervalExceededError)
        if passes or (isinstance(fault, UnknownTopicError) and self._is_pattern):
            logger.warning("reading is interrupted", extra={"fault": str(fault)})
            return
        raise fault

    def _reading_fault(
        self, error: KafkaError, partition: TopicPartition, offset: Offset
    ) -> ClusterError:
        if is_out_of_range(error):
            return OffsetOutOfRangeError(
                partition,
                offset=offset,
                first=first_offsets(self.admin, [partition])[partition],
                end=end_offsets(self.admin, [partition])[partition],
            )
        topic = partition.topic or None
        action = f"read topic `{topic}`" if topic else self._action
        return self._client_fault(error, action, topic=topic)

    def _look_around(self) -> None:
        """Do what has to be done now and then, however many or few records come."""
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + SLICE_SECONDS
        self._async.repeat_failed()
        self._commit_if_due()
        if now >= self._next_scan:
            self._scan()

    def _scan(self) -> None:
        self._next_scan = time.monotonic() + _SCAN_SECONDS
        if self._subscription is None or (self._membership.group and not self._is_pattern):
            return  # the client itself watches the topics that it was told by name
        try:
            topics = self._client.list_topics(timeout=_SCAN_TIMEOUT_SECONDS).topics
        except KafkaException:
            return
        self._follow(self._subscription, topics)

    @property
    def _is_pattern(self) -> bool:
        return self._subscription is not None and self._subscription.is_pattern

    def _follow(self, subscription: Subscription, known: Mapping[str, TopicMetadata]) -> None:
        """Read the topics that are wanted and there; those that were added since as well."""
        topics = subscription.matching(known)
        if self._membership.group is not None:
            if topics and topics != self._subscribed:
                self.assignment.subscribe(topics)
                self._subscribed = topics
            return
        found = [
            TopicPartition(topic, Partition(number))
            for topic in topics
            for number in sorted(known[topic].partitions)
        ]
        if self.assignment.version == 0:
            self.assignment.replace(dict.fromkeys(found))
        else:
            self.assignment.add(set(found).difference(self.assignment.partitions))

    def _commit_if_due(self) -> None:
        if self._schedule.is_due(self.progress.processed_count):
            self.commit_soon(self.progress.uncommitted())

    def _release(self, partitions: tuple[TopicPartition, ...]) -> None:
        if self._membership.group is None or self._schedule.is_manual:
            return
        offsets = {**self._async.unanswered(partitions), **self.progress.uncommitted(partitions)}
        if not offsets:
            return
        # Fails when no coordinator answers in the time of a request; the commit would hang for
        # the time of a session.
        self.assignment.committed(partitions)
        try:
            self.commit_now(offsets)
        except UnknownTopicError as fault:
            # The offsets of a deleted topic are of no use to anybody.
            logger.warning("a topic was deleted", extra={"topic": fault.topic})

    def _forget(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._async.forget(partitions)
        self._drop_fetched(partitions)

    def _drop_fetched(self, partitions: Collection[TopicPartition]) -> bool:
        kept = [item for item in self._fetched if partition_of(item) not in partitions]
        dropped = len(kept) < len(self._fetched)
        self._fetched = deque(kept)
        return dropped

    def _send_commit(self, offsets: Offsets) -> None:
        self._client.commit(offsets=client_partitions(offsets), asynchronous=True)

    def _on_commit(self, error: KafkaError | None, partitions: list[ClientPartition]) -> None:
        error = error or first_error(partitions)
        offsets = {partition_of(item): Offset(item.offset) for item in partitions}
        fault = None if error is None else self._commit_fault(error, offsets)
        self._async.answered(offsets, fault)

    def _commit_fault(self, error: KafkaError, offsets: Offsets) -> ClusterError:
        bootstrap = self.admin.connection.bootstrap
        topic = next((partition.topic for partition in offsets), None)
        return commit_fault(error, member=self._membership, bootstrap=bootstrap, topic=topic)

    def _client_fault(
        self, error: KafkaError, action: str, *, topic: str | None = None
    ) -> ClusterError:
        bootstrap = self.admin.connection.bootstrap
        return client_fault(
            error, action, member=self._membership, bootstrap=bootstrap, topic=topic
        )

    def _on_client_error(self, error: KafkaError) -> None:
        """Take what the client reports about its connections, outside of any request."""
        if self._is_moot(error):
            return
        fault = self._client_fault(error, self._action)
        if isinstance(fault, AuthenticationFailedError | NotAuthorizedError) or error.fatal():
            self._fault = fault
        elif time.monotonic() >= self._next_warning:
            self._next_warning = time.monotonic() + _WARNING_SECONDS
            logger.warning("the cluster is away", extra={"fault": str(fault)})


def closes_within(client: Client, seconds: float) -> bool:
    """Close `client` and return whether that ended in time; otherwise it goes on unattended."""
    # While no broker answers, the client waits in its own code for the time of a session, and a
    # signal that comes meanwhile breaks it. In a thread that the process need not wait for, both
    # do no harm.
    closed: Future[None] = Future()

    def close() -> None:
        try:
            client.close()
        except BaseException as err:  # noqa: BLE001 - raised again where the caller waits
            closed.set_exception(err)
        else:
            closed.set_result(None)

    threading.Thread(target=close, name="penstock-consumer-close", daemon=True).start()
    if not wait([closed], timeout=seconds).done:
        return False
    closed.result()
    return True
