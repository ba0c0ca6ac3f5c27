"""The partitions a consumer reads: how they come, where reading begins, and how they go.

In a group they come and go with rebalances, which the client announces during a poll. Without a
group they are assigned once, or added as topics grow. What has been processed and committed is in
`kafka/consumer/commits.py`; the reading itself is in `kafka/consumer/consumer.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.consumer.errors import NoStartingPointError, NotAssignedError
from penstock.kafka.consumer.membership import Start
from penstock.kafka.errors import ClusterError, error_of, translated
from penstock.kafka.offsets import Isolation, TopicPartition, end_offsets, first_offsets
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from confluent_kafka import Consumer as Client

    from penstock.kafka.admin import Admin
    from penstock.kafka.consumer.commits import Offsets, Progress
    from penstock.kafka.consumer.membership import Membership
    from penstock.kafka.records import Record

RebalanceHook = Callable[[tuple[TopicPartition, ...]], None]
"""Called during a poll with the partitions that come or go, in order."""


def _do_nothing(partitions: tuple[TopicPartition, ...]) -> None:
    """Be the hook of a consumer that was given none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceHooks:
    """What the caller wants to do when partitions come and go."""

    on_assigned: RebalanceHook
    on_revoked: RebalanceHook
    on_lost: RebalanceHook

    @classmethod
    def given(
        cls,
        on_assigned: RebalanceHook | None,
        on_revoked: RebalanceHook | None,
        on_lost: RebalanceHook | None,
    ) -> RebalanceHooks:
        """Return the hooks, with those that were not given doing nothing."""
        return cls(
            on_assigned=on_assigned or _do_nothing,
            on_revoked=on_revoked or _do_nothing,
            on_lost=on_lost or _do_nothing,
        )


class Assignment:
    """The partitions of one consumer, kept the same here and in the client.

    Args:
        client: the client that reads.
        admin: answers where partitions begin and end.
        membership: the group, if there is one.
        start: where to begin in partitions without a committed offset.
        isolation: decides what the end of a partition is.
        progress: is told where reading begins, and of partitions that are gone.
        hooks: the caller's.
        release: commits what is processed of partitions that are about to go.
        forget: drops what else is known of partitions that are gone.
    """

    def __init__(
        self,
        client: Client,
        admin: Admin,
        *,
        membership: Membership,
        start: Start | None,
        isolation: Isolation,
        progress: Progress,
        hooks: RebalanceHooks,
        release: RebalanceHook,
        forget: RebalanceHook,
    ) -> None:
        self._client, self._admin = client, admin
        self._membership, self._start, self._isolation = membership, start, isolation
        self._progress, self._hooks = progress, hooks
        self._release, self._forget = release, forget
        # Replaced and never changed, so that other threads may look at it.
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._paused: set[TopicPartition] = set()
        self._coming: dict[TopicPartition, Offset | None] = {}
        self._is_subscribed = False
        self._is_leaving = False
        self.version = 0
        """Grows with every change; 0 until the first assignment, which may be an empty one."""

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read, in order."""
        return tuple(sorted(self._partitions | self._coming.keys()))

    @property
    def paused(self) -> tuple[TopicPartition, ...]:
        """The partitions that are assigned and rest, in order."""
        return tuple(sorted(self._paused))

    def subscribe(self, topics: Sequence[TopicName]) -> None:
        """Join the group for these topics; partitions come with a later poll."""
        self._is_subscribed = True
        self._client.subscribe(
            list(topics), on_assign=self._gained, on_revoke=self._revoked, on_lost=self._lost
        )

    def replace(self, starts: Mapping[TopicPartition, Offset | None]) -> None:
        """Read exactly these partitions; None means at the committed offset or the start."""
        starts = self._with_commits(starts)
        self.drop(self.partitions)
        self._client.unassign()
        self._begin(starts)

    def add(self, partitions: Collection[TopicPartition]) -> None:
        """Read these partitions as well, from their first record: they did not exist before."""
        if partitions:
            self._begin(dict(first_offsets(self._admin, partitions)))

    def leave(self) -> None:
        """Give up all partitions in good order: hook, commit, then let go."""
        self._is_leaving = True
        self._give_up(self.partitions)

    def drop(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget partitions that are no longer read."""
        self._partitions = self._partitions.difference(partitions)
        self._paused.difference_update(partitions)
        self._progress.forget(partitions)
        self._forget(tuple(partitions))
        self.version += 1

    def seek(self, partition: TopicPartition, offset: Offset) -> None:
        """Go on at `offset`. In `on_assigned` this decides where reading begins.

        Raises:
            NotAssignedError: the partition is not read.
        """
        self.ensure_assigned([partition])
        self._progress.jump(partition, offset)
        if partition in self._coming:
            self._coming[partition] = offset
        else:
            self._move_client(partition, offset)

    def rewind(self, partition: TopicPartition) -> None:
        """Let the client fetch again what it has fetched and nobody has been handed."""
        position = self._progress.position(partition)
        if position is not None:
            self._move_client(partition, position)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Fetch and hand out nothing of these partitions until they are resumed."""
        self.ensure_assigned(partitions)
        self._client.pause(client_partitions(dict.fromkeys(partitions)))
        self._paused.update(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Go on with these partitions where they were paused."""
        self.ensure_assigned(partitions)
        self._client.resume(client_partitions(dict.fromkeys(partitions)))
        self._paused.difference_update(partitions)

    def ensure_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Return when all partitions are read by this consumer.

        Raises:
            NotAssignedError: for the first that is not.
        """
        for partition in partitions:
            if partition not in self._partitions and partition not in self._coming:
                raise NotAssignedError(partition, assigned=self.partitions)

    def committed(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Offset | None]:
        """Return what the group has committed for each partition, or None.

        Raises:
            ClusterError: the group's coordinator did not answer.
        """
        asked = client_partitions(dict.fromkeys(partitions))
        try:
            answers = self._client.committed(asked, timeout=self._admin.timeout_seconds)
        except KafkaException as err:
            raise self._committed_fault(err.args[0]) from err
        error = first_error(answers)
        if error is not None:
            raise self._committed_fault(error)
        return {
            partition_of(answer): Offset(answer.offset) if answer.offset >= 0 else None
            for answer in answers
        }

    def _committed_fault(self, error: KafkaError) -> ClusterError:
        return translated(
            error,
            action=f"read the committed offsets of group `{self._membership.group}`",
            bootstrap=self._admin.connection.bootstrap,
        )

    def _gained(self, _client: Client, gained: list[ClientPartition]) -> None:
        if self._is_leaving:
            # A rebalance has ended while the client closes: it would wait in vain for committed
            # offsets, and gives these partitions back at once.
            return
        partitions = tuple(sorted(partition_of(item) for item in gained))
        self._coming = self._with_commits(dict.fromkeys(partitions))
        try:
            self._hooks.on_assigned(partitions)
            starts = self._coming
        finally:
            self._coming = {}
        self._begin(starts)

    def _revoked(self, _client: Client, revoked: list[ClientPartition]) -> None:
        self._give_up(tuple(sorted(partition_of(item) for item in revoked)))

    def _lost(self, _client: Client, lost: list[ClientPartition]) -> None:
        partitions = tuple(sorted(partition_of(item) for item in lost))
        try:
            self._hooks.on_lost(partitions)
        finally:
            self.drop(partitions)

    def _give_up(self, partitions: tuple[TopicPartition, ...]) -> None:
        # When the consumer closes, it has given up everything before the client says so again.
        held = tuple(partition for partition in partitions if partition in self._partitions)
        try:
            if held and self._is_subscribed:
                self._hooks.on_revoked(held)
            if held:
                self._release(held)
        finally:
            self.drop(held)

    def _with_commits(
        self, starts: Mapping[TopicPartition, Offset | None]
    ) -> dict[TopicPartition, Offset | None]:
        open_ones = [partition for partition, offset in starts.items() if offset is None]
        if not open_ones or self._membership.group is None:
            return dict(starts)
        return {**starts, **self.committed(open_ones)}

    def _begin(self, starts: Mapping[TopicPartition, Offset | None]) -> None:
        offsets = {**self._chosen(starts)}
        for partition, offset in starts.items():
            if offset is not None:
                offsets[partition] = offset
                if self._progress.position(partition) is None:  # else a hook has sought
                    self._progress.begin(partition, offset)
        self._partitions = self._partitions.union(offsets)
        if self._is_subscribed and not self._membership.is_incremental:
            self._client.assign(client_partitions(offsets))
        else:
            self._client.incremental_assign(client_partitions(offsets))
        self.version += 1

    def _chosen(self, starts: Mapping[TopicPartition, Offset | None]) -> Offsets:
        """Return where to begin in the partitions for which nothing is committed or given."""
        open_ones = [partition for partition, offset in starts.items() if offset is None]
        match self._start:
            case _ if not open_ones:
                return {}
            case None:
                raise NoStartingPointError(open_ones, group=self._membership.group)
            case Start.EARLIEST:
                offsets = first_offsets(self._admin, open_ones)
                for partition, offset in offsets.items():
                    self._progress.begin(partition, offset)
            case Start.LATEST:
                offsets = end_offsets(self._admin, open_ones, isolation=self._isolation)
                for partition, offset in offsets.items():
                    # To be committed even if no record comes: otherwise a restart would begin at
                    # a later end, and what came in between would be skipped.
                    self._progress.jump(partition, offset)
        return offsets

    def _move_client(self, partition: TopicPartition, offset: Offset) -> None:
        try:
            self._client.seek(ClientPartition(partition.topic, partition.partition, offset))
        except KafkaException as err:
            if error_of(err).code() != KafkaError._STATE:  # noqa: SLF001 - a public constant
                raise
            # The client does not seek in a partition that it has stopped to read, as it does
            # after an offset that was out of range.
            self._restart_client(partition, offset)

    def _restart_client(self, partition: TopicPartition, offset: Offset) -> None:
        if self._is_subscribed and not self._membership.is_incremental:
            everything = {item: self._progress.position(item) for item in self._partitions}
            self._client.assign(client_partitions(everything))
        else:
            self._client.incremental_unassign(client_partitions({partition: None}))
            self._client.incremental_assign(client_partitions({partition: offset}))
        if self._paused:
            self._client.pause(client_partitions(dict.fromkeys(self._paused)))


def partition_of(item: ClientPartition | Record) -> TopicPartition:
    """Return where a record stands, or what the client means by its own partition."""
    return TopicPartition(TopicName(item.topic), Partition(item.partition))


def client_partitions(
    offsets: Mapping[TopicPartition, Offset | None] | Offsets,
) -> list[ClientPartition]:
    """Return our partitions as the client's; None is "no offset" there as well."""
    return [
        ClientPartition(item.topic, item.partition, OFFSET_INVALID if offset is None else offset)
        for item, offset in offsets.items()
    ]


def first_error(partitions: Collection[ClientPartition]) -> KafkaError | None:
    """Return what went wrong with one of the partitions in an answer, or None."""
    return next((item.error for item in partitions if item.error is not None), None)
