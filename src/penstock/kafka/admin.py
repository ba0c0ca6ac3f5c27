"""The administration client: one per cluster, kept alive while its answers are awaited.

Topics, groups and the cluster itself have their own modules, which are functions over `Admin`.
This one holds the client, waits for its futures and turns its errors into ours.
"""

from __future__ import annotations

import time
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from penstock.kafka.complaints import Complaints
from penstock.kafka.errors import (
    ClusterBusyError,
    ClusterError,
    ClusterUnreachableError,
    NotAuthorizedError,
    RequestTimedOutError,
    UnknownPartitionError,
    UnknownTopicError,
    translated,
)
from penstock.kafka.reachability import Address, accepts, ensure_reachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future
    from types import TracebackType

    from confluent_kafka.admin._metadata import ClusterMetadata

    from penstock.kafka.connection import Connection

Answer = TypeVar("Answer")

# An election on a healthy cluster takes a fraction of a second; asking ten times a second finds
# its end soon without adding load.
_PAUSE_SECONDS = 0.1
# The client ends its requests itself; this much later a future counts as lost.
_GRACE_SECONDS = 5
# How soon a refused password is noticed while the first answer is awaited.
_LOGIN_SLICE_SECONDS = 0.02


class Admin:
    """Speaks to a cluster as an administrator.

    The client's own library reconnects by itself; one `Admin` serves a whole command or process
    and may be shared by threads. An `AdminClient` that is collected while its futures are open
    makes them fail, so keep the `Admin` while you wait.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._complaints = self._new_complaints()

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
        self.forget()

    def forget(self) -> None:
        """Let the client go; the next request makes a new one."""
        self.__dict__.pop("client", None)

    @cached_property
    def client(self) -> AdminClient:
        """The client, made on first use.

        Raises:
            ClusterUnreachableError: no bootstrap address accepts a connection. The client would
                keep trying in silence until its request times out.
            AuthenticationFailedError: the credentials are not accepted.
        """
        ensure_reachable(self.connection)
        self._complaints = self._new_complaints()  # those about an earlier client are settled
        client = AdminClient(
            self.connection.client_config() | {"log_level": 0}, error_cb=self._complaints.note
        )
        if self.connection.has_credentials:
            self._ensure_accepted(client)
        return client

    @property
    def steered_client(self) -> AdminClient:
        """The client, once the broker that it takes for the controller is there.

        The client sends all that is not about one broker, one leader or one group to the
        controller that brokers name; with KRaft that is any of them, which passes requests on.
        For seconds after a broker has died others still name it, and the client would wait for
        it until its request times out. Asking again makes it choose another.
        """
        deadline = time.monotonic() + self.timeout_seconds
        while time.monotonic() < deadline:
            metadata = self.metadata()
            broker = metadata.brokers.get(metadata.controller_id)
            if broker is None or accepts(Address(str(broker.host), broker.port)):
                break
            time.sleep(_PAUSE_SECONDS)
        return self.client

    @property
    def timeout_seconds(self) -> float:
        """How long one request may take."""
        return self.connection.request_timeout_seconds

    def within(self, seconds: float) -> Admin:
        """Return an `Admin` with the same client whose requests take no longer than `seconds`."""
        hurried = Admin(self.connection.with_request_timeout(seconds))
        hurried.__dict__["client"] = self.client
        hurried._complaints = self._complaints
        return hurried

    def metadata(self) -> ClusterMetadata:
        """Return brokers and topics as the cluster sees them now.

        Raises:
            ClusterUnreachableError: no broker answered.
        """
        try:
            return self.client.list_topics(timeout=self.timeout_seconds)
        except KafkaException as err:
            raise self.fault(err, "ask for brokers and topics") from err

    def await_one(
        self,
        future: Future[Answer],
        action: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
    ) -> Answer:
        """Return what `future` brings.

        Raises:
            ClusterError: the subclass that fits; `action` says in it what was tried.
        """
        try:
            return future.result(timeout=self.timeout_seconds + _GRACE_SECONDS)
        except KafkaException as err:
            raise self.fault(err, action, topic=topic, partition=partition) from err
        except FutureTimeoutError as err:
            raise RequestTimedOutError(action, bootstrap=self.connection.bootstrap) from err

    def await_all(self, futures: Mapping[str, Future[Answer]], action: str) -> dict[str, Answer]:
        """Return what each future brings, by its key; the first failure is raised."""
        return {key: self.await_one(future, action) for key, future in futures.items()}

    def retried(self, request: Callable[[], Answer]) -> Answer:
        """Return what `request` gives, called again while the cluster is busy.

        Only for requests that may be repeated. Leaders move, and a topic that was created a
        moment ago has none yet: that passes within the time a request may take, or it is raised.

        Raises:
            ClusterError: what the last call raised.
        """
        deadline = time.monotonic() + self.timeout_seconds
        while True:
            try:
                return request()
            except ClusterBusyError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)
            # The client asks the leader that it knows in the epoch that it knows, for minutes
            # after a restart of the broker, unless it is made to look.
            with suppress(KafkaException):
                self.client.list_topics(timeout=self.timeout_seconds)

    def fault(
        self,
        err: KafkaException,
        action: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
    ) -> ClusterError:
        """Return `err` as an error of ours; an unknown topic comes with the nearest name."""
        bootstrap = self.connection.bootstrap
        fault = translated(err, action=action, bootstrap=bootstrap, topic=topic)
        if isinstance(fault, UnknownTopicError):
            return self._what_is_missing(fault.topic, partition, action)
        # The client says "timed out" also when it never reached anybody.
        lost = isinstance(fault, RequestTimedOutError) and not self._any_broker_answers()
        if lost or isinstance(fault, ClusterUnreachableError):
            return self._unreachable(self.client, action)
        return fault

    def absence(self, topic: str, action: str, *, known: Iterable[str]) -> ClusterError:
        """Return why `topic` is not among the `known` ones: it does not exist, or is hidden.

        A cluster lists only topics that one may see; asked for one by its name, it says why.
        """
        future = self.client.describe_topics(
            TopicCollection([topic]), request_timeout=self.timeout_seconds
        )[topic]
        try:
            self.await_one(future, action)
        except NotAuthorizedError as hidden:
            return hidden
        except ClusterError:
            pass  # unknown, as the list said
        return UnknownTopicError(topic, known=known)

    def _new_complaints(self) -> Complaints:
        return Complaints(self.connection.bootstrap, action="answer")

    def _unreachable(self, client: AdminClient, action: str) -> ClusterError:
        client.poll(0)  # hands over the complaints that have piled up
        waited = f"no usable answer within {self.timeout_seconds:g} s"
        return self._complaints.refusal() or ClusterUnreachableError(
            self.connection.bootstrap,
            tried=f"tried to {action}",
            reason=self._complaints.last_word() or waited,
        )

    def _ensure_accepted(self, client: AdminClient) -> None:
        """Ask for anything, and raise when the cluster complains about who is asking."""
        answer = client.describe_cluster(request_timeout=self.timeout_seconds)
        while not answer.done():
            client.poll(_LOGIN_SLICE_SECONDS)
            if refusal := self._complaints.refusal():
                raise refusal
        error = answer.exception()
        if isinstance(error, KafkaException):
            fault = translated(error, action="log in", bootstrap=self.connection.bootstrap)
            if isinstance(fault, ClusterUnreachableError | RequestTimedOutError):
                raise self._unreachable(client, "log in") from error

    def _what_is_missing(self, topic: str, partition: int | None, action: str) -> ClusterError:
        """Tell an unknown topic from an unknown partition, and both from one without a leader."""
        try:
            topics = self.client.list_topics(timeout=self.timeout_seconds).topics
        except KafkaException:
            return self._unreachable(self.client, action)  # the client knows no leaders at all
        if topic not in topics:
            return self.absence(topic, action, known=topics)
        partitions = topics[topic].partitions
        if partition is not None and partition not in partitions:
            return UnknownPartitionError(topic, partition, partition_count=len(partitions))
        return ClusterBusyError(action, reason=f"`{topic}` has no leader there yet")

    def _any_broker_answers(self) -> bool:
        try:
            return bool(self.client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False
