"""What a Kafka cluster or its client can answer, as errors of ours.

`translated` is the border: it turns the client's `KafkaError` into one of these classes by its
code, never by its text. Whether to try again is `retryable` on the class.
"""

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import PenstockError
from penstock.names import nearest


class ClusterError(PenstockError):
    """A request to a Kafka cluster did not succeed."""

    code = "PEN-400"

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)


class ClusterUnreachableError(ClusterError):
    """No broker answered at the addresses that were tried."""

    code = "PEN-401"
    retryable = True

    def __init__(self, bootstrap: str, *, tried: str, reason: str = "") -> None:
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"no Kafka broker answered at `{bootstrap}`: {tried}{because}",
            hint="`penstock platform status` shows the local platform; for another cluster check "
            "`--bootstrap`, `security_protocol` and the firewall",
        )


class UnknownTopicError(ClusterError):
    """The topic does not exist on the cluster."""

    code = "PEN-402"

    def __init__(self, topic: str, *, known: Iterable[str] = ()) -> None:
        close = nearest(topic, known)
        super().__init__(
            f"topic `{topic}` does not exist",
            hint=f"did you mean `{close}`?" if close else f"`penstock topics create {topic}`",
        )
        self.topic = topic


class UnknownPartitionError(ClusterError):
    """The topic exists, and has no partition of that number."""

    code = "PEN-411"

    def __init__(self, topic: str, partition: int, *, partition_count: int) -> None:
        super().__init__(
            f"topic `{topic}` has no partition {partition}: it has {partition_count}, "
            f"0 to {partition_count - 1}",
            hint=f"`penstock topics describe {topic}` lists them",
        )
        self.topic, self.partition = topic, partition


class NotAuthorizedError(ClusterError):
    """The cluster knows who is asking and refuses."""

    code = "PEN-403"

    def __init__(self, action: str, *, bootstrap: str, reason: str) -> None:
        super().__init__(
            f"`{bootstrap}` refuses to {action}: {reason}",
            hint="ask for an ACL for this user, or choose another profile with `--profile`",
        )


class AuthenticationFailedError(ClusterError):
    """The cluster does not accept the credentials."""

    code = "PEN-404"

    def __init__(self, bootstrap: str, *, reason: str) -> None:
        super().__init__(
            f"`{bootstrap}` does not accept the credentials: {reason}",
            hint="`penstock config show` says which user, mechanism and protocol were used",
        )


class RequestTimedOutError(ClusterError):
    """A broker was reached, and did not finish the request in time."""

    code = "PEN-405"
    retryable = True

    def __init__(self, action: str, *, bootstrap: str) -> None:
        super().__init__(
            f"`{bootstrap}` did not {action} in time",
            hint="try again, or raise `request_timeout_seconds` in the profile",
        )


class RequestRefusedError(ClusterError):
    """The cluster understood the request and will not do it."""

    code = "PEN-406"

    def __init__(self, action: str, *, reason: str) -> None:
        super().__init__(
            f"cannot {action}: {reason}",
            hint="correct the request; `penstock cluster describe` shows what the cluster has",
        )
        self.reason = reason


class ClusterBusyError(ClusterError):
    """A passing state of the cluster: an election, a load, a lost connection."""

    code = "PEN-407"
    retryable = True

    def __init__(self, action: str, *, reason: str) -> None:
        super().__init__(
            f"cannot {action} right now: {reason}",
            hint="try again in a moment; `penstock cluster describe` shows the cluster's state",
        )


_AUTHORIZATION = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_AUTHENTICATION = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001 - the client's public constant has this name
    KafkaError.SASL_AUTHENTICATION_FAILED,
}
_UNREACHABLE = {
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
}
_TIMED_OUT = {
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT,
}
_UNKNOWN_TOPIC = {
    KafkaError._NOENT,  # noqa: SLF001 - "no leaders found": what list-offsets says of all unknown
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}
_BUSY = {
    KafkaError._WAIT_COORD,  # noqa: SLF001
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_CONTROLLER,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
}


def error_of(err: KafkaException | KafkaError) -> KafkaError:
    """Return the client's error object, whether it was raised or handed over."""
    return err.args[0] if isinstance(err, KafkaException) else err


def translated(
    err: KafkaException | KafkaError,
    *,
    action: str,
    bootstrap: str,
    topic: str | None = None,
    known_topics: Iterable[str] = (),
) -> ClusterError:
    """Return the error of ours that says what `err` means for somebody who wanted to `action`.

    Args:
        err: what the client raised or reported.
        action: the attempted act as a verb phrase, such as "create topic `orders`".
        bootstrap: the addresses that were tried.
        topic: the topic concerned, if there is one.
        known_topics: the topics of the cluster, to suggest the nearest name.
    """
    error = error_of(err)
    code, reason = error.code(), error.str()
    if code in _UNKNOWN_TOPIC and topic is not None:
        return UnknownTopicError(topic, known=known_topics)
    if code in _AUTHORIZATION:
        return NotAuthorizedError(action, bootstrap=bootstrap, reason=reason)
    if code in _AUTHENTICATION:
        return AuthenticationFailedError(bootstrap, reason=reason)
    if code in _UNREACHABLE:
        return ClusterUnreachableError(bootstrap, tried=f"tried to {action}", reason=reason)
    if code in _TIMED_OUT:
        return RequestTimedOutError(action, bootstrap=bootstrap)
    if code in _BUSY or error.retriable():
        return ClusterBusyError(action, reason=reason)
    return RequestRefusedError(action, reason=reason)
