"""Consumer groups: which there are, who belongs to them, and what they have committed.

The client knows the consumers of the classic and of the consumer protocol. Of share, Kafka Streams
and Connect groups it sees the name alone, so they are listed as `other` and cannot be described.
How lag is computed is in `kafka/groups/lag.py`, moving offsets in `kafka/groups/resets.py`.

Requests for many groups are sent at once and then awaited: a list of 500 groups takes about a
second on a small broker.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaException

from penstock.kafka.errors import ClusterError, NotAuthorizedError
from penstock.kafka.groups.lag import (
    CommittedOffsets,
    PartitionLag,
    as_partition,
    committed_offsets,
    existing_partitions,
    partition_lags,
    total_lag,
    total_lags,
)
from penstock.names import BrokerId, GroupId, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from confluent_kafka.admin._group import ConsumerGroupDescription, MemberDescription

    from penstock.kafka.admin import Admin
    from penstock.kafka.offsets import TopicPartition


class GroupType(StrEnum):
    """The protocol that the members of a group speak."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"
    OTHER = "other"
    """One of the two before, or a Connect group, when the client is asked, which does not tell
    which; the groups' log (`log.py`) does."""


class GroupState(StrEnum):
    """What a group is doing.

    The client gives no name to the states in which a group of the consumer protocol assigns and
    reconciles partitions; together with the classic protocol's two they are `rebalancing`.
    """

    STABLE = "stable"
    EMPTY = "empty"
    REBALANCING = "rebalancing"
    DEAD = "dead"
    UNKNOWN = "unknown"


class UnknownGroupError(ClusterError):
    """The group does not exist on the cluster."""

    code = "PEN-430"

    def __init__(self, group: str, *, known: Iterable[str] = ()) -> None:
        close = nearest(group, known)
        super().__init__(
            f"group `{group}` does not exist",
            hint=f"did you mean `{close}`?" if close else "`penstock groups list` shows them all",
        )
        self.group = group


class GroupActiveError(ClusterError):
    """The group has members, which would go on from their own positions or be cut off."""

    code = "PEN-431"

    def __init__(self, group: GroupId, *, verb: str, members: Sequence[Member]) -> None:
        clients = ", ".join(sorted({f"`{item.client_id}` on {item.host}" for item in members}))
        count = f"{len(members)} member{'' if len(members) == 1 else 's'}"
        super().__init__(
            f"cannot {verb} group `{group}` while it has {count}: {clients}"
            if members
            else f"cannot {verb} group `{group}`: a member has just joined",
            hint=f"stop the consumers; `penstock groups describe {group}` shows them, and the "
            "state is `empty` when the last has left",
        )
        self.group, self.members = group, tuple(members)


class GroupNotVisibleError(ClusterError):
    """The group exists, and the client has no way to look into it."""

    code = "PEN-432"

    def __init__(self, group: str) -> None:
        super().__init__(
            f"group `{group}` is a share, Streams or Connect group: the client sees its name only",
            hint="`penstock groups list --type classic --type consumer` shows those to work with",
        )
        self.group = group


class GroupsNotDeletedError(ClusterError):
    """Some groups of several were deleted and some were not."""

    code = "PEN-436"

    def __init__(self, *, deleted: Sequence[GroupId], failed: Mapping[GroupId, str]) -> None:
        done = ", ".join(f"`{group}`" for group in deleted) or "none"
        reasons = ", ".join(f"`{group}` ({reason})" for group, reason in failed.items())
        super().__init__(
            f"groups were not deleted: {reasons}; deleted: {done}",
            hint="`penstock groups list` shows what is left; delete those again",
        )
        self.deleted, self.failed = tuple(deleted), dict(failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One consumer of a group."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    """The name of a static member, which may restart without a rebalance."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """The broker that looks after a group."""

    broker_id: BrokerId
    host: str
    port: int

    def __str__(self) -> str:
        """Return `id (host:port)`."""
        return f"{self.broker_id} ({self.host}:{self.port})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Who belongs to a group now, and who looks after it."""

    state: GroupState
    coordinator: Coordinator
    assignor: str | None
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    """One line of a list of groups; what the client cannot see is None."""

    group: GroupId
    type: GroupType
    state: GroupState
    member_count: int | None
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription:
    """Everything that is known about a group.

    `partitions` are all partitions of each topic that the group has committed or is assigned, so
    that a partition without a commit is seen too.
    """

    group: GroupId
    type: GroupType
    state: GroupState
    coordinator: Coordinator
    assignor: str | None
    members: tuple[Member, ...]
    partitions: tuple[PartitionLag, ...]

    @property
    def lag(self) -> int | None:
        """The lag of all partitions together; None when nothing has been committed."""
        return total_lag(self.partitions)

    def owner_of(self, partition: TopicPartition) -> Member | None:
        """Return the member to which `partition` is assigned."""
        return next((item for item in self.members if partition in item.partitions), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    group: GroupId
    type: GroupType
    state: GroupState


def list_groups(
    admin: Admin,
    *,
    wanted: Callable[[str], bool] = lambda group: True,  # noqa: ARG005 - the default wants all
    states: Collection[GroupState] = tuple(GroupState),
    types: Collection[GroupType] = tuple(GroupType),
) -> tuple[GroupListing, ...]:
    """Return the groups in order of their names, with members and total lag.

    Raises:
        ClusterError: the subclass that fits.
    """
    found = [
        item
        for item in _listed(admin)
        if wanted(item.group) and item.state in states and item.type in types
    ]
    visible = [item.group for item in found if item.type is not GroupType.OTHER]
    # A group without members needs no description: its member count is in its state.
    busy = [item.group for item in found if item.group in visible and not _is_idle(item)]
    member_counts = {item.group_id: len(item.members) for item in _described(admin, busy)}
    lags = total_lags(admin, committed_offsets(admin, visible))
    return tuple(
        GroupListing(
            group=item.group,
            type=item.type,
            state=item.state,
            member_count=member_counts.get(item.group, 0) if item.group in visible else None,
            lag=lags.get(item.group),
        )
        for item in found
    )


def group_states(admin: Admin) -> dict[GroupId, GroupState]:
    """Return what each group of the classic and the consumer protocol is doing now.

    One request per broker: 20 ms for 10,000 groups.

    Raises:
        ClusterError: the subclass that fits.
    """
    future = admin.client.list_consumer_groups(request_timeout=admin.timeout_seconds)
    answer = admin.await_one(future, "list groups")
    return {GroupId(item.group_id): _state(item.state, item.type) for item in answer.valid}


def describe_groups(admin: Admin, groups: Sequence[GroupId]) -> tuple[GroupDescription, ...]:
    """Return all that is known about each of `groups`, in the given order.

    Raises:
        UnknownGroupError: one of them does not exist; the nearest name is suggested.
        GroupNotVisibleError: one of them is of a kind the client cannot look into.
        ClusterError: another subclass, for what else went wrong.
    """
    ensure_groups_exist(admin, groups)
    committed = committed_offsets(admin, groups)
    return tuple(
        _description(admin, item, committed[GroupId(item.group_id)])
        for item in _described(admin, groups)
    )


def describe_group(admin: Admin, group: GroupId) -> GroupDescription:
    """Return all that is known about `group`; raises as `describe_groups` does."""
    return describe_groups(admin, [group])[0]


def membership_of(admin: Admin, group: GroupId) -> Membership:
    """Return who belongs to `group`, in one request; an unknown group has the state `dead`.

    Raises:
        ClusterError: the subclass that fits, also for kinds of groups that the client cannot see.
    """
    item = _described(admin, [group])[0]
    return Membership(
        state=_state(item.state, item.type),
        coordinator=_coordinator(item),
        assignor=item.partition_assignor or None,
        members=tuple(_member(member) for member in item.members),
    )


def members_of(admin: Admin, group: GroupId) -> tuple[Member, ...]:
    """Return the members of `group`; none when it does not exist.

    Raises:
        ClusterError: the subclass that fits.
    """
    return tuple(_member(item) for item in _described(admin, [group])[0].members)


def ensure_groups_exist(admin: Admin, groups: Collection[GroupId]) -> None:
    """Return when all of `groups` exist and can be looked into.

    Raises:
        UnknownGroupError: one of them does not exist; the nearest name is suggested.
        NotAuthorizedError: this user may not see one of them.
        GroupNotVisibleError: one of them is of a kind the client cannot look into.
    """
    listed = {item.group: item for item in _listed(admin)}
    for group in groups:
        if group not in listed:
            raise _absence(admin, group, known=listed)
        if listed[group].type is GroupType.OTHER:
            raise GroupNotVisibleError(group)


def ensure_groups_idle(admin: Admin, groups: Sequence[GroupId], *, verb: str) -> None:
    """Return when none of `groups` has members; `verb` says in the error what was wanted.

    Raises:
        GroupActiveError: one of them has members.
    """
    for item in _described(admin, groups):
        if item.members:
            raise GroupActiveError(
                GroupId(item.group_id), verb=verb, members=[_member(one) for one in item.members]
            )


def delete_groups(admin: Admin, groups: Sequence[GroupId]) -> None:
    """Delete `groups` with all they have committed; either all can go, or none is touched.

    Raises:
        UnknownGroupError: one of them does not exist; none was deleted.
        GroupActiveError: one of them has members; none was deleted.
        GroupsNotDeletedError: the broker deleted some and refused others.
    """
    ensure_groups_exist(admin, groups)
    ensure_groups_idle(admin, groups, verb="delete")
    futures = admin.client.delete_consumer_groups(
        list(groups), request_timeout=admin.timeout_seconds
    )
    failed: dict[GroupId, str] = {}
    for group in groups:
        try:
            admin.await_one(futures[group], f"delete group `{group}`")
        except ClusterError as err:
            failed[group] = err.message
    if failed:
        raise GroupsNotDeletedError(
            deleted=[group for group in groups if group not in failed], failed=failed
        )


def _absence(admin: Admin, group: GroupId, *, known: Collection[GroupId]) -> ClusterError:
    """Return why `group` is not listed: a cluster lists only groups that one may see."""
    try:
        _described(admin, [group])
    except NotAuthorizedError as hidden:
        return hidden
    except ClusterError:
        pass  # unknown, as the list said
    return UnknownGroupError(group, known=known)


def _listed(admin: Admin) -> list[_Listed]:
    before = _all_names(admin)
    future = admin.client.list_consumer_groups(request_timeout=admin.timeout_seconds)
    answer = admin.await_one(future, "list groups")
    for error in answer.errors:
        raise admin.fault(error, "list groups") from error
    visible = {
        GroupId(item.group_id): _Listed(
            group=GroupId(item.group_id),
            type=_type(item.type),
            state=_state(item.state, item.type),
        )
        for item in answer.valid
    }
    unseen = before - visible.keys()
    if unseen:
        unseen &= _all_names(admin)  # those that were deleted in between are of no kind
    others = {
        group: _Listed(group=group, type=GroupType.OTHER, state=GroupState.UNKNOWN)
        for group in unseen
    }
    return sorted((visible | others).values(), key=lambda item: item.group)


def _all_names(admin: Admin) -> set[GroupId]:
    """Return the names of groups of every kind, which only the client's older call gives."""
    try:
        with warnings.catch_warnings():
            # Deprecated in favor of the call that leaves share and Streams groups out.
            warnings.simplefilter("ignore", DeprecationWarning)
            groups = admin.client.list_groups(timeout=admin.timeout_seconds)
    except KafkaException as err:
        raise admin.fault(err, "list groups") from err
    return {GroupId(str(group.id)) for group in groups}


def _is_idle(item: _Listed) -> bool:
    return item.state in (GroupState.EMPTY, GroupState.DEAD)


def _type(kind: Enum) -> GroupType:
    # Brokers before 3.8 name no type, and know the classic protocol alone.
    return GroupType.CONSUMER if kind is ConsumerGroupType.CONSUMER else GroupType.CLASSIC


def _state(state: Enum, kind: Enum) -> GroupState:
    match state:
        case ConsumerGroupState.STABLE:
            return GroupState.STABLE
        case ConsumerGroupState.EMPTY:
            return GroupState.EMPTY
        case ConsumerGroupState.DEAD:
            return GroupState.DEAD
        case ConsumerGroupState.PREPARING_REBALANCING | ConsumerGroupState.COMPLETING_REBALANCING:
            return GroupState.REBALANCING
    return GroupState.REBALANCING if kind is ConsumerGroupType.CONSUMER else GroupState.UNKNOWN


def _described(admin: Admin, groups: Sequence[GroupId]) -> list[ConsumerGroupDescription]:
    if not groups:
        return []  # the client refuses an empty request

    def answers() -> list[ConsumerGroupDescription]:
        futures = admin.client.describe_consumer_groups(
            list(groups), request_timeout=admin.timeout_seconds
        )
        return [admin.await_one(futures[group], f"describe group `{group}`") for group in groups]

    return admin.retried(answers)


def _description(
    admin: Admin, item: ConsumerGroupDescription, committed: CommittedOffsets
) -> GroupDescription:
    members = tuple(_member(member) for member in item.members)
    seen = set(committed) | {partition for member in members for partition in member.partitions}
    partitions = seen | existing_partitions(admin, {partition.topic for partition in seen})
    return GroupDescription(
        group=GroupId(item.group_id),
        type=_type(item.type),
        state=_state(item.state, item.type),
        coordinator=_coordinator(item),
        assignor=item.partition_assignor or None,
        members=members,
        partitions=partition_lags(admin, partitions, committed),
    )


def _coordinator(item: ConsumerGroupDescription) -> Coordinator:
    broker = item.coordinator
    return Coordinator(broker_id=BrokerId(broker.id), host=broker.host, port=broker.port)


def _member(item: MemberDescription) -> Member:
    assigned = (as_partition(partition) for partition in item.assignment.topic_partitions)
    return Member(
        member_id=item.member_id,
        client_id=item.client_id,
        host=item.host.removeprefix("/"),
        instance_id=item.group_instance_id,
        partitions=tuple(sorted(assigned)),
    )
