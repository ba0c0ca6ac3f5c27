"""Commits: when a consumer commits, what it may commit, and what becomes of commits on their way.

All of it is bookkeeping without I/O; the requests are the consumer's. A record handed to the caller
counts as processed when the caller asks for the next one: committing it any earlier would lose it
if the caller died over it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.consumer.membership import InvalidConsumerError
from penstock.kafka.offsets import TopicPartition
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Collection

    from penstock.kafka.errors import ClusterError

logger = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, Offset]
"""For each partition the offset to read next, which is what Kafka stores as committed."""

OnCommitted = Callable[[Offsets, "ClusterError | None"], None]
"""Called with what an asynchronous commit asked for, and with the error if it failed for good."""


@dataclass(frozen=True, slots=True)
class Automatic:
    """Commit what is processed when `every_seconds` have passed since the last commit.

    After a crash the records of up to `every_seconds` come again.
    """

    every_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Refuse an interval that would never or always be over."""
        if not self.every_seconds > 0:
            raise InvalidConsumerError(
                reason=f"commits every {self.every_seconds:g} s are not possible",
                hint="give `Automatic` a positive number of seconds",
            )


@dataclass(frozen=True, slots=True)
class EveryRecords:
    """Commit what is processed whenever it amounts to `count` records."""

    count: int

    def __post_init__(self) -> None:
        """Refuse a count that is never reached."""
        if self.count < 1:
            raise InvalidConsumerError(
                reason=f"commits every {self.count} records are not possible",
                hint="give `EveryRecords` a count of 1 or more",
            )


@dataclass(frozen=True, slots=True)
class Manual:
    """Commit only when the caller says so; neither a rebalance nor the end commits anything."""


CommitPolicy = Automatic | EveryRecords | Manual


class Progress:
    """How far a consumer has come in each of its partitions."""

    def __init__(self) -> None:
        self._position: dict[TopicPartition, Offset] = {}
        self._in_hand: dict[TopicPartition, Offset] = {}
        self._processed: dict[TopicPartition, Offset] = {}
        self._in_hand_count = 0
        self.processed_count = 0
        """Records processed since the last commit."""

    def begin(self, partition: TopicPartition, offset: Offset) -> None:
        """Start to read `partition` at `offset`, where the group already stands."""
        self._position[partition] = offset

    def jump(self, partition: TopicPartition, offset: Offset) -> None:
        """Go on at `offset`: for a commit, everything before it is dealt with."""
        self._in_hand.pop(partition, None)
        self._position[partition] = self._processed[partition] = offset

    def hand_out(self, partition: TopicPartition, offset: Offset) -> None:
        """Note that the caller gets the record at `offset`."""
        self.pass_by(partition, Offset(offset + 1))
        self._in_hand_count += 1

    def pass_by(self, partition: TopicPartition, following: Offset) -> None:
        """Note that nothing before `following` is left to read.

        At the end of a partition this skips transaction markers and aborted records, which no
        reader gets; without it the group would show a lag there for ever.
        """
        if following > self._position.get(partition, -1):
            self._position[partition] = self._in_hand[partition] = following

    def settle(self) -> None:
        """Count what is in the caller's hands as processed."""
        if self._in_hand:
            self._processed.update(self._in_hand)
            self._in_hand.clear()
            self.processed_count += self._in_hand_count
            self._in_hand_count = 0

    def drop_in_hand(self) -> None:
        """Forget what is in the caller's hands: it was not processed."""
        self._in_hand.clear()
        self._in_hand_count = 0

    def position(self, partition: TopicPartition) -> Offset | None:
        """Return the offset to hand out next, or None for a partition that is not read."""
        return self._position.get(partition)

    def uncommitted(self, partitions: Collection[TopicPartition] | None = None) -> Offsets:
        """Return what is processed and not committed, of all partitions or of these."""
        return {
            partition: offset
            for partition, offset in self._processed.items()
            if partitions is None or partition in partitions
        }

    def note_committed(self, offsets: Offsets) -> None:
        """Note that `offsets` were committed, or are on their way."""
        for partition, offset in offsets.items():
            if self._processed.get(partition) == offset:
                del self._processed[partition]
        self.processed_count = 0

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop all that is known of partitions which this consumer no longer reads."""
        for partition in partitions:
            self._position.pop(partition, None)
            self._in_hand.pop(partition, None)
            self._processed.pop(partition, None)


class Schedule:
    """Says when a policy's next commit is due."""

    def __init__(self, policy: CommitPolicy, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._last_commit = clock()

    @property
    def is_manual(self) -> bool:
        """Whether commits are the caller's business alone."""
        return isinstance(self._policy, Manual)

    def is_due(self, processed_count: int) -> bool:
        """Return whether `processed_count` records, or the time passed, ask for a commit."""
        match self._policy:
            case Automatic(every_seconds=seconds):
                return self._clock() - self._last_commit >= seconds
            case EveryRecords(count=count):
                return processed_count >= count
            case Manual():
                return False

    def restart(self) -> None:
        """Count from here: a commit was made, or there was nothing to commit."""
        self._last_commit = self._clock()


@dataclass(slots=True)
class _OnItsWay:
    """An asynchronous commit: what it asked for first, what it still asks for, whom to tell."""

    asked: Offsets
    sent: Offsets
    on_complete: OnCommitted | None


class AsyncCommits:
    """Commits that nobody waits for, retried without ever rewinding the group.

    Answers may come late and out of order: if the commit of 2000 is lost and that of 3000 arrives,
    repeating 2000 would take the group back. A failed commit is therefore repeated only for those
    partitions for which no other commit was issued since.

    Args:
        send: sends a commit; the answer is handed to `answered`.
    """

    def __init__(self, send: Callable[[Offsets], None]) -> None:
        self._send = send
        self._latest: dict[TopicPartition, Offset] = {}
        self._on_their_way: list[_OnItsWay] = []
        self._to_repeat: list[_OnItsWay] = []

    def issue(self, offsets: Offsets, on_complete: OnCommitted | None = None) -> None:
        """Send a commit and return at once."""
        self.supersede(offsets)
        self._dispatch(_OnItsWay(offsets, offsets, on_complete))

    def supersede(self, offsets: Offsets) -> None:
        """Note that `offsets` are committed by other means: older commits are not repeated."""
        self._latest.update(offsets)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Repeat nothing for partitions that are no longer this consumer's."""
        for partition in partitions:
            self._latest.pop(partition, None)

    def unanswered(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the latest commits for `partitions` of which it is not known that they arrived."""
        waiting = [*self._on_their_way, *self._to_repeat]
        return {
            partition: offset
            for commit in waiting
            for partition, offset in self._not_superseded(commit.sent).items()
            if partition in partitions
        }

    def answered(self, offsets: Offsets, fault: ClusterError | None) -> None:
        """Take the cluster's answer to the oldest commit that asked for `offsets`."""
        commit = next((item for item in self._on_their_way if item.sent == offsets), None)
        if commit is None:
            return
        self._on_their_way.remove(commit)
        if fault is None or not fault.retryable:
            _complete(commit, fault)
            return
        commit.sent = self._not_superseded(commit.sent)
        if commit.sent:
            self._to_repeat.append(commit)
        else:
            _complete(commit, None)  # a later commit has taken its place

    def repeat_failed(self) -> None:
        """Send again what failed and may be repeated. Call it at a measured pace."""
        repeated, self._to_repeat = self._to_repeat, []
        for commit in repeated:
            commit.sent = self._not_superseded(commit.sent)
            if commit.sent:
                self._dispatch(commit)
            else:
                _complete(commit, None)

    def _dispatch(self, commit: _OnItsWay) -> None:
        self._on_their_way.append(commit)
        self._send(commit.sent)

    def _not_superseded(self, offsets: Offsets) -> Offsets:
        return {
            partition: offset
            for partition, offset in offsets.items()
            if self._latest.get(partition) == offset
        }


def _complete(commit: _OnItsWay, fault: ClusterError | None) -> None:
    if commit.on_complete is not None:
        commit.on_complete(commit.asked, fault)
    elif fault is not None:
        logger.warning("offsets were not committed", extra={"fault": str(fault)})
