"""The consumer: reads records of a group's share, or of partitions chosen by hand.

Safe by default: aborted and open transactions are not seen, a group without commits must say where
to begin, an offset that is gone is an error rather than a silent jump, and only processed records
are committed. Commits are explained in `commits.py`, rebalances in `assignment.py`.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Self

from penstock.kafka.connection import Connection
from penstock.kafka.consumer.assignment import RebalanceHook, RebalanceHooks, partition_of
from penstock.kafka.consumer.commits import Automatic, CommitPolicy, Offsets, OnCommitted
from penstock.kafka.consumer.errors import ConsumerClosedError, NoGroupError, NotAssignedError
from penstock.kafka.consumer.membership import (
    Assignor,
    GroupProtocol,
    InvalidConsumerError,
    Membership,
    Start,
)
from penstock.kafka.consumer.reading import SLICE_SECONDS, Reader
from penstock.kafka.consumer.subscription import Subscription
from penstock.kafka.errors import ClusterError
from penstock.kafka.offsets import (
    Isolation,
    TopicPartition,
    end_offsets,
    first_offsets,
    offsets_at,
)
from penstock.names import GroupId, Offset

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import datetime
    from types import TracebackType

    from penstock.kafka.client_figures import ConsumerRates
    from penstock.kafka.records import Record

logger = logging.getLogger(__name__)

_AUTOMATIC = Automatic()


class Consumer:
    """Reads records, alone or as a member of a group.

    A record handed out counts as processed when the next one is asked for; only then is it
    committed. So a caller that dies over a record gets it again. `commit()` counts everything
    handed out as processed, and so does leaving a `with` block normally; `close()` alone does not.

    Partitions that are about to go to another member are committed first (unless commits are
    `Manual`), so that a clean handover neither loses nor repeats a record.

    One thread uses a consumer. Only `stop()` may be called from others, or from a signal handler.

    Args:
        connection: the cluster, or its bootstrap addresses.
        topics: names, or a pattern that must match the whole name; topics that come to match it
            are found within seconds. None: use `assign`.
        group: shares the topics' partitions among its members and keeps their offsets. None:
            every partition of the topics is read, and nothing can be committed.
        start: where to begin in a partition without committed offset. None: that is an error.
        commit: when to commit what is processed.
        isolation: whether aborted and open transactions are read.
        assignor: how a group shares partitions; default: evenly and sticky.
        protocol: who computes the shares.
        session_timeout_seconds: after this time without a sign of life a crashed member's
            partitions go to others; for the `CONSUMER` protocol the broker decides.
        max_poll_interval_seconds: after this time without a poll they go to others, too.
        static_member_id: keeps partitions across restarts; such a member does not leave the group
            when it closes.
        on_assigned: called when partitions come; may `seek` in them.
        on_revoked: called before partitions go; may still `commit`.
        on_lost: called when partitions are gone already, and can no longer be committed.
        clock: tells seconds for `Automatic` commits.

    Raises:
        InvalidConsumerError: the arguments do not fit together.
        UnknownTopicError: a topic does not exist.
        ClusterError: the cluster cannot be reached, or refuses.
    """

    def __init__(
        self,
        connection: Connection | str,
        topics: Sequence[str] | re.Pattern[str] | None = None,
        *,
        group: str | None = None,
        start: Start | None = None,
        commit: CommitPolicy = _AUTOMATIC,
        isolation: Isolation = Isolation.READ_COMMITTED,
        assignor: Assignor | None = None,
        protocol: GroupProtocol = GroupProtocol.CLASSIC,
        session_timeout_seconds: float = 45.0,
        max_poll_interval_seconds: float = 300.0,
        static_member_id: str | None = None,
        on_assigned: RebalanceHook | None = None,
        on_revoked: RebalanceHook | None = None,
        on_lost: RebalanceHook | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(connection, str):
            connection = Connection(bootstrap=connection)
        self.membership = Membership(
            group=None if group is None else GroupId(group),
            protocol=protocol,
            assignor=assignor,
            session_timeout_seconds=session_timeout_seconds,
            max_poll_interval_seconds=max_poll_interval_seconds,
            static_member_id=static_member_id,
        )
        self.isolation = isolation
        self._is_closed = False
        self._subscription = None if topics is None else Subscription(topics)
        if self._subscription and group is None and start is None:
            raise InvalidConsumerError(
                reason="it has neither a group nor a start",
                hint="pass `start=Start.EARLIEST` or `start=Start.LATEST`, or a `group`",
            )
        self._reader = Reader(
            connection,
            self._subscription,
            membership=self.membership,
            start=start,
            isolation=isolation,
            policy=commit,
            hooks=RebalanceHooks.given(on_assigned, on_revoked, on_lost),
            clock=clock,
        )
        self._progress, self._assignment = self._reader.progress, self._reader.assignment
        self._admin = self._reader.admin

    def poll(self, timeout_seconds: float) -> Record | None:
        """Return the next record, or None when none came in time or the consumer was stopped.

        Raises:
            OffsetOutOfRangeError: the offset to read next is gone; `seek` goes on elsewhere.
            PollIntervalExceededError: the last poll was too long ago; the next one joins again.
            CommitFailedError: the group took partitions away before their offsets were committed.
            ClusterError: another subclass, for what the cluster refuses for good. While it cannot
                be reached the consumer waits and goes on where it was.
        """
        self._ensure_open()
        record = self._reader.await_record(timeout_seconds)
        if record is not None:
            self._reader.hand_out(record)
        return record

    def poll_many(self, limit: int, timeout_seconds: float) -> list[Record]:
        """Return up to `limit` records as soon as there is one; empty when none came in time.

        All of them count as processed when the next ones are asked for. Raises as `poll` does.
        """
        self._ensure_open()
        first = self._reader.await_record(timeout_seconds)
        records = [] if first is None else self._reader.gather(first, limit)
        for record in records:
            self._reader.hand_out(record)
        return records

    def __iter__(self) -> Iterator[Record]:
        """Yield records until `stop` is called. Raises as `poll` does."""
        while not self._reader.is_stopping:
            record = self.poll(SLICE_SECONDS)
            if record is not None:
                yield record
        self._reader.settle()  # the caller asked for another: the last one is processed

    def read_to_end(self) -> Iterator[Record]:
        """Yield the records up to the end that each partition has when reading it begins.

        Goes by offsets and not by counts, so that transaction markers and compacted records do
        not matter. Records that come later stay unread. In a group it reads this member's share,
        once the group has given it one. Raises as `poll` does.
        """
        self._ensure_open()
        ends: dict[TopicPartition, Offset] = {}
        version, resting = 0, set[TopicPartition]()
        try:
            while not self._reader.is_stopping:
                self._reader.settle()
                record = self._reader.take(SLICE_SECONDS)
                if self._assignment.version != version:
                    version, ends = self._assignment.version, self._ends(known=ends)
                if record is None:
                    # The client tells of the end of each partition, so this is not a long wait.
                    if version and all(self.position(item) >= end for item, end in ends.items()):
                        break
                elif record.offset < ends[partition_of(record)]:
                    self._reader.hand_out(record)
                    yield record
                else:
                    resting.add(self._put_back(record))
        finally:
            if not self._is_closed:  # an abandoned reading may outlive the consumer
                self._assignment.resume(resting.intersection(self._assignment.partitions))
        self._reader.settle()

    def _put_back(self, record: Record) -> TopicPartition:
        """Keep a record that came too late for this reading for the next one."""
        partition = partition_of(record)
        # Between the last record and this one there may be the marker of a transaction, which the
        # client passes without a word.
        self._progress.pass_by(partition, record.offset)
        self._assignment.pause([partition])
        self._assignment.rewind(partition)
        return partition

    def _ends(self, *, known: Offsets) -> dict[TopicPartition, Offset]:
        partitions = self._assignment.partitions
        fresh = [partition for partition in partitions if partition not in known]
        ends = {**known, **end_offsets(self._admin, fresh, isolation=self.isolation)}
        return {partition: ends[partition] for partition in partitions}

    def assign(
        self, partitions: Collection[TopicPartition], at: Offsets | Start | None = None
    ) -> None:
        """Read exactly these partitions, whatever other members of the group do.

        Args:
            partitions: what to read; an empty list ends reading.
            at: where to begin: offsets, or an end of all partitions. A partition for which it
                says nothing begins at its committed offset, or at the consumer's `start`.

        Raises:
            InvalidConsumerError: the consumer was made for topics.
            UnknownTopicError, UnknownPartitionError: there is no such partition.
            NoStartingPointError: nothing says where to begin in one of them.
        """
        self._ensure_open()
        if self._subscription is not None:
            raise InvalidConsumerError(
                reason="it has topics already, so partitions cannot be assigned by hand",
                hint="leave out `topics`",
            )
        firsts = first_offsets(self._admin, partitions)
        match at:
            case None:
                starts: dict[TopicPartition, Offset | None] = dict.fromkeys(partitions)
            case Start.EARLIEST:
                starts = {**firsts}
            case Start.LATEST:
                starts = {**end_offsets(self._admin, partitions, isolation=self.isolation)}
            case _:
                starts = {partition: at.get(partition) for partition in partitions}
        self._assignment.replace(starts)

    def seek(self, partition: TopicPartition, offset: Offset) -> None:
        """Go on at `offset`; for the next commit everything before it counts as processed.

        Raises:
            NotAssignedError: the partition is not read by this consumer.
        """
        self._ensure_open()
        self._reader.seek(partition, offset)

    def seek_to_beginning(self, partitions: Collection[TopicPartition]) -> None:
        """Go on at the first records that the partitions still have. Raises as `seek` does."""
        self._seek_all(partitions, lambda: first_offsets(self._admin, partitions))

    def seek_to_end(self, partitions: Collection[TopicPartition]) -> None:
        """Go on at the ends of the partitions. Raises as `seek` does."""
        isolation = self.isolation
        self._seek_all(
            partitions, lambda: end_offsets(self._admin, partitions, isolation=isolation)
        )

    def seek_to_time(self, partitions: Collection[TopicPartition], moment: datetime) -> None:
        """Go on at the first records from `moment` or later, or at the ends. Raises as `seek`."""
        isolation = self.isolation
        self._seek_all(
            partitions, lambda: offsets_at(self._admin, partitions, moment, isolation=isolation)
        )

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Hand out nothing of these partitions until they are resumed; keep polling."""
        self._ensure_open()
        self._reader.pause(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Go on with partitions that were paused."""
        self._ensure_open()
        self._assignment.resume(partitions)

    def commit(self) -> None:
        """Commit everything handed out and wait for the answer.

        While the cluster is away it waits for the time of a session.

        Raises:
            CommitFailedError: the partitions belong to other members by now.
            ClusterError: another subclass, for what else went wrong.
            NoGroupError: the consumer has no group.
        """
        self._ensure_group()
        self._progress.settle()
        self._reader.commit_now(self._progress.uncommitted())

    def commit_async(self, on_complete: OnCommitted | None = None) -> None:
        """Commit everything handed out, without waiting.

        A commit that fails for a passing reason is repeated during later polls, and never after a
        later commit, which it would undo.

        Args:
            on_complete: called during a later poll, when the offsets are committed, when a later
                commit has taken their place, or with the error that makes it pointless to repeat;
                at once when there is nothing to commit. Without it such an error is logged.
        """
        self._ensure_group()
        self._progress.settle()
        self._reader.commit_soon(self._progress.uncommitted(), on_complete)

    def commit_offsets(self, offsets: Offsets) -> None:
        """Commit exactly `offsets`, the ones to read next, and wait for the answer.

        They may lie before what was committed: the group then reads again from there. Raises as
        `commit` does.
        """
        self._ensure_group()
        self._reader.commit_now(offsets)

    def position(self, partition: TopicPartition) -> Offset:
        """Return the offset that is handed out next.

        Raises:
            NotAssignedError: the partition is not read by this consumer.
        """
        position = self._progress.position(partition)
        if position is None:
            raise NotAssignedError(partition, assigned=self._assignment.partitions)
        return position

    def committed(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Offset | None]:
        """Return what the group has committed for each partition, or None."""
        self._ensure_group()
        return self._assignment.committed(partitions)

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that this consumer reads now, in order."""
        return self._assignment.partitions

    def lag(self) -> int | None:
        """Return how many offsets lie before the ends of the partitions that this consumer reads.

        Goes by the ends that came with the last records, without asking the cluster; None until
        every partition has been heard of.
        """
        return self._reader.lag()

    def metrics(self) -> ConsumerRates | None:
        """Return what the consumer did in the last seconds; None in its first ten."""
        return self._reader.statistics.consumer_rates()

    def paused(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that are paused, in order."""
        return self._assignment.paused

    def stop(self) -> None:
        """End iteration and polls after the record in hand. May be called from anywhere."""
        self._reader.is_stopping = True

    def close(self) -> None:
        """Commit what is processed, once, and leave the group at once. Safe to repeat.

        A record that was handed out and not followed by another counts as not processed: call
        `commit` first if it was, or leave a `with` block normally.

        Raises:
            CommitFailedError: the partitions belong to other members by now.
            ClusterError: the cluster is away, so that nothing could be committed. The consumer is
                closed all the same.
        """
        if self._is_closed:
            return
        self._progress.drop_in_hand()
        try:
            self._reader.close()
        finally:
            self._is_closed = True

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; when the block ended normally, the record in hand counts as processed."""
        if kind is None:
            self._progress.settle()
        try:
            self.close()
        except ClusterError as fault:
            if kind is None:
                raise
            # What ended the block is the news; this often follows from it.
            logger.warning("the consumer was not closed in order", extra={"fault": str(fault)})

    def _seek_all(
        self, partitions: Collection[TopicPartition], offsets: Callable[[], Offsets]
    ) -> None:
        self._ensure_open()
        self._assignment.ensure_assigned(partitions)
        for partition, offset in offsets().items():
            self._reader.seek(partition, offset)

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise ConsumerClosedError

    def _ensure_group(self) -> None:
        self._ensure_open()
        if self.membership.group is None:
            raise NoGroupError
