"""The administration client: one per cluster, kept alive while its answers are awaited.

Topics, groups and the cluster itself have their own modules, which are functions over `Admin`.
This one holds the client, waits for its futures and turns its errors into ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from penstock.kafka.errors import ClusterError, ClusterUnreachableError, translated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future
    from types import TracebackType

    from confluent_kafka.admin._metadata import ClusterMetadata

    from penstock.kafka.connection import Connection

Answer = TypeVar("Answer")


class Admin:
    """Speaks to a cluster as an administrator.

    The client's own library reconnects by itself; one `Admin` serves a whole command or process
    and may be shared by threads. An `AdminClient` that is collected while its futures are open
    makes them fail, so keep the `Admin` while you wait.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.client = AdminClient(connection.client_config() | {"log_level": 0})

    def __enter__(self) -> Self:
        """Return itself; the client connects on the first request."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the client go."""
        del self.client

    @property
    def timeout_seconds(self) -> float:
        """How long one request may take."""
        return self.connection.request_timeout_seconds

    def metadata(self) -> ClusterMetadata:
        """Return brokers and topics as the cluster sees them now.

        Raises:
            ClusterUnreachableError: no broker answered.
        """
        try:
            return self.client.list_topics(timeout=self.timeout_seconds)
        except KafkaException as err:
            raise self.fault(err, "list topics") from err

    def await_one(self, future: Future[Answer], action: str, *, topic: str | None = None) -> Answer:
        """Return what `future` brings.

        Raises:
            ClusterError: the subclass that fits; `action` says in it what was tried.
        """
        try:
            return future.result(timeout=self.timeout_seconds + 5)
        except KafkaException as err:
            raise self.fault(err, action, topic=topic) from err

    def await_all(self, futures: Mapping[str, Future[Answer]], action: str) -> dict[str, Answer]:
        """Return what each future brings, by its key; the first failure is raised."""
        return {key: self.await_one(future, action) for key, future in futures.items()}

    def fault(self, err: KafkaException, action: str, *, topic: str | None = None) -> ClusterError:
        """Return `err` as an error of ours, with the nearest topic name when a topic is unknown."""
        fault = translated(err, action=action, bootstrap=self.connection.bootstrap, topic=topic)
        if fault.code == "PEN-402" and topic is not None:
            return translated(
                err,
                action=action,
                bootstrap=self.connection.bootstrap,
                topic=topic,
                known_topics=self.metadata().topics,
            )
        if fault.code == "PEN-405" and not self._any_broker_known():
            # The client says "timed out" when it never reached anybody.
            return ClusterUnreachableError(
                self.connection.bootstrap,
                tried=action,
                reason=f"waited {self.timeout_seconds:g} s",
            )
        return fault

    def _any_broker_known(self) -> bool:
        try:
            return bool(self.client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False
