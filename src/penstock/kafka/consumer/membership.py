"""How a consumer belongs to a group: protocol, assignor, timeouts, and where it starts.

Only the choices and what they mean for the client's options live here; what happens at a rebalance
is in `kafka/consumer/assignment.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.names import GroupId

# Ten heartbeats fit in a session, so that a few lost ones do no harm, and one is sent at least
# every three seconds, because members learn of a rebalance from the answer to a heartbeat.
_HEARTBEATS_PER_SESSION = 10
_MAX_HEARTBEAT_SECONDS = 3.0


class Start(StrEnum):
    """Where to begin in a partition for which no offset is committed or given."""

    EARLIEST = "earliest"
    """At the first record that the partition still has."""

    LATEST = "latest"
    """At its end: only records that come from now on."""


class GroupProtocol(StrEnum):
    """Who computes the assignment of a group's partitions."""

    CLASSIC = "classic"
    """One of the members; every Kafka version knows it."""

    CONSUMER = "consumer"
    """The broker, without stopping the group; Kafka 4.0 and later."""


class Assignor(StrEnum):
    """How partitions are shared out among the members of a group."""

    RANGE = "range"
    """Consecutive partitions of each topic: members get the same numbers of every topic."""

    ROUND_ROBIN = "roundrobin"
    """One after the other over all topics: members differ by one partition at most."""

    COOPERATIVE_STICKY = "cooperative-sticky"
    """Evenly, and what a member has it keeps: only partitions that move are stopped."""

    UNIFORM = "uniform"
    """The broker's even and sticky assignor, for the `CONSUMER` protocol."""


_ASSIGNORS = {
    GroupProtocol.CLASSIC: (Assignor.COOPERATIVE_STICKY, Assignor.RANGE, Assignor.ROUND_ROBIN),
    GroupProtocol.CONSUMER: (Assignor.UNIFORM, Assignor.RANGE),
}


class InvalidConsumerError(UsageError):
    """The arguments of a consumer do not fit together."""

    code = "PEN-470"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(f"this consumer cannot be made: {reason}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """How a consumer takes part in a group. Without a group it reads on its own."""

    group: GroupId | None
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    assignor: Assignor | None = None
    session_timeout_seconds: float = 45.0
    max_poll_interval_seconds: float = 300.0
    static_member_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse what the client or the broker would refuse later and less clearly."""
        if self.group == "":
            raise InvalidConsumerError(
                reason="`group` is empty", hint="name the group, or pass None"
            )
        if self.assignor not in (None, *_ASSIGNORS[self.protocol]):
            fitting = ", ".join(f"`{item}`" for item in _ASSIGNORS[self.protocol])
            raise InvalidConsumerError(
                reason=f"the {self.protocol} protocol has no assignor `{self.assignor}`",
                hint=f"choose one of {fitting}",
            )
        if self.max_poll_interval_seconds < self.session_timeout_seconds and self._is_classic:
            raise InvalidConsumerError(
                reason=f"`max_poll_interval_seconds` ({self.max_poll_interval_seconds:g}) is "
                f"shorter than `session_timeout_seconds` ({self.session_timeout_seconds:g})",
                hint="give the time between two polls at least the time of a session",
            )

    @property
    def _is_classic(self) -> bool:
        return self.protocol is GroupProtocol.CLASSIC

    @property
    def is_incremental(self) -> bool:
        """Whether a rebalance names only the partitions that come or go."""
        return not self._is_classic or self._chosen_assignor is Assignor.COOPERATIVE_STICKY

    @property
    def _chosen_assignor(self) -> Assignor:
        return self.assignor or _ASSIGNORS[self.protocol][0]

    def client_config(self) -> dict[str, str | int]:
        """Return the options of confluent-kafka for this membership."""
        config: dict[str, str | int] = {
            # The client wants a name even when no group is joined; it only asks for a coordinator.
            "group.id": self.group or f"penstock-{uuid4().hex}",
            "group.protocol": self.protocol.value,
            "max.poll.interval.ms": _milliseconds(self.max_poll_interval_seconds),
        }
        if self.static_member_id is not None:
            config["group.instance.id"] = self.static_member_id
        return config | (self._classic_config() if self._is_classic else self._broker_config())

    def _classic_config(self) -> dict[str, str | int]:
        heartbeat = self.session_timeout_seconds / _HEARTBEATS_PER_SESSION
        return {
            "partition.assignment.strategy": self._chosen_assignor.value,
            "session.timeout.ms": _milliseconds(self.session_timeout_seconds),
            "heartbeat.interval.ms": _milliseconds(min(heartbeat, _MAX_HEARTBEAT_SECONDS)),
        }

    def _broker_config(self) -> dict[str, str | int]:
        # Session and heartbeat are the broker's settings in this protocol.
        return {"group.remote.assignor": self._chosen_assignor.value}


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
