"""Who leads: the member of a consumer group to which the topic's one partition belongs.

The group's coordinator notices within the session timeout that a member has died, and gives the
partition to another. The partition stays where it is when members come (the assignor is sticky).
Each member's client id is its address, so whoever describes the group knows where the leader is.

Belonging to the group decides who should lead, not who may write: two members may both believe to
own the partition for a moment. That is decided by `SchemasLog.enter`.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from confluent_kafka import OFFSET_END, Consumer, KafkaException

from penstock.kafka.complaints import Complaints, client_logger
from penstock.kafka.consumer.membership import Assignor, Membership
from penstock.kafka.groups.description import members_of
from penstock.kafka.tables.topic import partition_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message
    from confluent_kafka import TopicPartition as ClientPartition

    from penstock.kafka.admin import Admin
    from penstock.kafka.connection import Connection
    from penstock.names import GroupId, TopicName

logger = logging.getLogger(__name__)

# The shortest that brokers allow by default: so long nobody leads after a crash.
_SESSION_SECONDS = 6.0
# How long the others wait in a rebalance for a member that lives and does not answer.
_MAX_POLL_SECONDS = 10.0
_POLL_SECONDS = 0.1
# To leave takes milliseconds; without Kafka the others find out by themselves.
_END_SECONDS = 2.0


def leader_of(admin: Admin, group: GroupId, topic: TopicName) -> str | None:
    """Return the address of the member that leads; None while there is none.

    Raises:
        ClusterError: the cluster did not answer in time, or refuses.
    """
    partition = partition_of(topic)
    members = members_of(admin, group)
    return next((item.client_id for item in members if partition in item.partitions), None)


class Candidacy:
    """Belongs to the group until it is closed.

    Args:
        connection: how to reach the cluster.
        topic: the topic whose partition makes the leader.
        group: the group that all candidates belong to.
        address: where this candidate can be reached.
        on_elected: called when the partition comes; must return at once.
        on_deposed: called when it goes, or has gone; must return at once.
    """

    def __init__(
        self,
        connection: Connection,
        topic: TopicName,
        *,
        group: GroupId,
        address: str,
        on_elected: Callable[[], None],
        on_deposed: Callable[[], None],
    ) -> None:
        self._topic, self._on_elected, self._on_deposed = topic, on_elected, on_deposed
        self._complaints = Complaints(connection.bootstrap, action=f"join group `{group}`")
        self._client = Consumer(_client_config(connection, group, address, self._complaints))
        self._stopping, self._standing_again = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._stand, name="registry-election", daemon=True)
        self.fault: Exception | None = None
        """Why this candidate has left without being closed; None while it belongs."""

    def start(self) -> None:
        """Join the group."""
        self._thread.start()

    def stand_again(self) -> None:
        """Leave and join again: whoever was shut out while it led does not know who leads."""
        self._standing_again.set()

    def close(self) -> None:
        """Leave the group, so that another can lead at once."""
        self._stopping.set()
        self._thread.join(_END_SECONDS)

    def _stand(self) -> None:
        try:
            self._subscribe()
            while not self._stopping.is_set():
                self._look(self._client.poll(_POLL_SECONDS))
                if self._standing_again.is_set():
                    self._standing_again.clear()
                    self._client.unsubscribe()
                    self._subscribe()
        except Exception as err:  # the top of a thread; whoever serves must stop
            logger.exception("the election cannot be followed any more")
            self.fault = err
        finally:
            self._on_deposed()
            self._client.close()

    def _look(self, message: Message | None) -> None:
        error = message.error() if message is not None else None
        if error is not None:
            if error.fatal():
                raise KafkaException(error)
            self._complaints.note(error)
        if refusal := self._complaints.refusal():
            raise refusal

    def _subscribe(self) -> None:
        self._client.subscribe(
            [self._topic],
            on_assign=self._assigned,
            on_revoke=lambda _client, _partitions: self._on_deposed(),
            on_lost=lambda _client, _partitions: self._on_deposed(),
        )

    def _assigned(self, client: Consumer, partitions: list[ClientPartition]) -> None:
        if not partitions:
            return
        for partition in partitions:
            partition.offset = OFFSET_END  # nothing is read here, so nobody need look where
        client.incremental_assign(partitions)
        client.pause(partitions)
        self._on_elected()


def _client_config(
    connection: Connection, group: GroupId, address: str, complaints: Complaints
) -> dict[str, object]:
    membership = Membership(
        group=group,
        assignor=Assignor.COOPERATIVE_STICKY,
        session_timeout_seconds=_SESSION_SECONDS,
        max_poll_interval_seconds=_MAX_POLL_SECONDS,
    )
    return {
        **connection.client_config(),
        **membership.client_config(),
        "client.id": address,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "latest",
        "log_level": 0,
        "error_cb": complaints.note,
        "logger": client_logger,
    }
