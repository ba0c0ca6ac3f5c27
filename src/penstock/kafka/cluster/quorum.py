"""The controller quorum and the finalized features, asked over the plain protocol (`wire.py`)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from penstock.kafka.cluster.wire import (
    NO_TAGS,
    Reader,
    Request,
    WireError,
    ask,
    encoded_array,
    encoded_text,
)
from penstock.names import BrokerId, Offset

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kafka.admin import Admin
    from penstock.kafka.reachability import Address

Item = TypeVar("Item")

_METADATA_TOPIC = "__cluster_metadata"
_DESCRIBE_QUORUM = Request(
    api_key=55,
    api_version=1,
    body=encoded_array([encoded_text(_METADATA_TOPIC) + encoded_array([struct.pack(">i", 0)])])
    + NO_TAGS,
)
_API_VERSIONS = Request(
    api_key=18, api_version=3, body=encoded_text("penstock") + encoded_text("0") + NO_TAGS
)
_FINALIZED_FEATURES_TAG = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumMember:
    """A controller that votes, or a broker that follows the metadata log."""

    node_id: BrokerId
    log_end: Offset
    lag: int
    """Metadata records behind the leader."""
    last_caught_up: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """The controllers that decide on the cluster's metadata."""

    leader: BrokerId
    leader_epoch: int
    high_watermark: Offset
    voters: tuple[QuorumMember, ...]
    observers: tuple[QuorumMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature at the level that the whole cluster has agreed on."""

    name: str
    level: int


def quorum(admin: Admin, address: Address) -> Quorum | None:
    """Return the controller quorum; None where the broker or the connection cannot tell."""
    return _asked(admin, address, _DESCRIBE_QUORUM, _quorum)


def finalized_features(admin: Admin, address: Address) -> tuple[Feature, ...] | None:
    """Return the finalized features by name; None where they cannot be asked."""
    return _asked(admin, address, _API_VERSIONS, _features)


def _asked(
    admin: Admin, address: Address, request: Request, decode: Callable[[Reader], Item | None]
) -> Item | None:
    if not admin.connection.is_plaintext:
        return None
    try:
        return ask(address, request, decode, timeout_seconds=admin.timeout_seconds)
    except WireError:
        return None


def _quorum(reader: Reader) -> Quorum | None:
    if reader.int16() != 0:
        return None
    topics = reader.array(lambda topic: (topic.name(), topic.array(_partition))[1])
    return next((partition for partitions in topics for partition in partitions), None)


def _partition(reader: Reader) -> Quorum | None:
    reader.int32()  # the metadata log has one partition
    refused = reader.int16() != 0
    leader, epoch, high_watermark = reader.int32(), reader.int32(), reader.int64()
    voters, observers = reader.array(_state), reader.array(_state)
    if refused:
        return None
    ends = {state.node_id: state.log_end for state in voters}
    leader_end = ends.get(BrokerId(leader), Offset(high_watermark))
    return Quorum(
        leader=BrokerId(leader),
        leader_epoch=epoch,
        high_watermark=Offset(high_watermark),
        voters=tuple(_member(state, leader_end) for state in voters),
        observers=tuple(_member(state, leader_end) for state in observers),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What the leader knows about one member."""

    node_id: BrokerId
    log_end: Offset
    caught_up_milliseconds: int


def _state(reader: Reader) -> _State:
    node_id, log_end = reader.int32(), reader.int64()
    reader.int64()  # when it last fetched; when it was last level says more
    return _State(
        node_id=BrokerId(node_id), log_end=Offset(log_end), caught_up_milliseconds=reader.int64()
    )


def _member(state: _State, leader_end: Offset) -> QuorumMember:
    milliseconds = state.caught_up_milliseconds
    return QuorumMember(
        node_id=state.node_id,
        log_end=state.log_end,
        # A member that the leader has not heard of yet has -1.
        lag=leader_end - max(state.log_end, 0),
        last_caught_up=datetime.fromtimestamp(milliseconds / 1000, UTC)
        if milliseconds > 0
        else None,
    )


def _features(reader: Reader) -> tuple[Feature, ...] | None:
    if reader.int16() != 0:
        return None
    reader.array(lambda item: item.raw(6))  # which requests the broker knows
    reader.int32()  # throttle time
    finalized = reader.tags().get(_FINALIZED_FEATURES_TAG)
    if finalized is None:
        return ()
    return tuple(sorted(finalized.array(_feature), key=lambda feature: feature.name))


def _feature(reader: Reader) -> Feature:
    name, level = reader.name(), reader.int16()
    reader.int16()  # the minimum level, which equals the maximum since Kafka 3.3
    return Feature(name=name, level=level)
