"""What can become of a record that is sent: errors of the producer, retriable and fatal apart.

The client retries what can be retried by itself, until `delivery_timeout_seconds` have passed. So a
`RetriableDeliveryError` means: the cluster was away or busy for that long, and sending the same
record later may succeed. Any other `DeliveryError` is fatal for that record: it will be refused
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from penstock.errors import PenstockError, UsageError
from penstock.kafka.errors import ClusterError, translated

if TYPE_CHECKING:
    from penstock.kafka.complaints import Refusal
    from penstock.kafka.records import OutgoingRecord

_TOO_LARGE = KafkaError.MSG_SIZE_TOO_LARGE
_TIMED_OUT = {
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001 - the client's public constant has this name
    KafkaError._TIMED_OUT,  # noqa: SLF001
}
_GIVEN_UP = {
    KafkaError._PURGE_QUEUE,  # noqa: SLF001
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001
}
_UNKNOWN_PARTITION = KafkaError._UNKNOWN_PARTITION  # noqa: SLF001
_BROKEN_PRODUCER = {
    KafkaError._FATAL,  # noqa: SLF001
    KafkaError._FENCED,  # noqa: SLF001
}
_UNEXPLAINED = _TIMED_OUT | _GIVEN_UP | _BROKEN_PRODUCER


class DeliveryError(ClusterError):
    """A record was not delivered, and sending it again would not help."""

    code = "PEN-452"

    def __init__(self, topic: str, *, reason: str, hint: str) -> None:
        super().__init__(f"a record for `{topic}` was not delivered: {reason}", hint=hint)
        self.topic = topic
        self.reason = reason


class RetriableDeliveryError(DeliveryError):
    """A record was not delivered because the cluster was away or busy; later it may be."""

    code = "PEN-453"
    retryable = True


class RecordTooLargeError(DeliveryError):
    """A record, or the batch it was sent in, is larger than the producer or the topic allows."""

    code = "PEN-454"


class ProducerFailedError(DeliveryError):
    """The client can no longer promise order without duplicates and takes no more records."""

    code = "PEN-462"

    def __init__(self, topic: str, *, reason: str) -> None:
        super().__init__(
            topic,
            reason=f"the producer has stopped for good: {reason}",
            hint="open a new producer and send again what was not acknowledged",
        )


class DeliveriesFailedError(ClusterError):
    """Records that were sent without waiting have failed since the last flush."""

    code = "PEN-455"

    def __init__(self, *, failed: int, first: DeliveryError) -> None:
        super().__init__(f"{_records(failed)} failed; the first: {first.message}", hint=first.hint)
        self.failed = failed
        self.first = first


class UndeliveredError(ClusterError):
    """Time ran out with records still on their way."""

    code = "PEN-456"
    retryable = True

    def __init__(
        self, *, count: int, waited_seconds: float, last_word: str, kept_in: str | None
    ) -> None:
        because = f" (the client's last word: {last_word})" if last_word else ""
        fate = (
            f"they stay in `{kept_in}` and are sent when the cluster is back"
            if kept_in
            else "`penstock cluster describe` shows the brokers; a longer timeout, or `spool=` to "
            "keep records on disk"
        )
        super().__init__(
            f"{_records(count)} not acknowledged within {waited_seconds:g} s{because}",
            hint=fate,
        )
        self.count = count


class BufferFullError(ClusterError):
    """Records come faster than the cluster takes them, and the buffer stayed full."""

    code = "PEN-457"
    retryable = True

    def __init__(self, topic: str, *, waited_seconds: float, held: int) -> None:
        super().__init__(
            f"a record for `{topic}` found the buffer full for {waited_seconds:.3g} s: "
            f"{_records(held)} not yet acknowledged",
            hint="send more slowly, or raise `buffer_records`, `buffer_bytes` or `block_seconds`",
        )


class InvalidRecordError(UsageError):
    """A record cannot be sent as it is; nothing was sent."""

    code = "PEN-458"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(f"the record cannot be sent: {reason}", hint=hint)


class ProducerClosedError(UsageError):
    """A producer was used after it was closed."""

    code = "PEN-459"

    def __init__(self) -> None:
        super().__init__(
            "this producer is closed", hint="open a new one: `with Producer(...) as producer:`"
        )


class DeliveryCallbackError(PenstockError):
    """An `on_delivery` function raised; the record's fate is not affected."""

    code = "PEN-460"

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"an `on_delivery` function raised {type(error).__name__}: {error}",
            hint="its traceback is in the log; catch errors inside the function",
        )


class InvalidProducerSettingError(UsageError):
    """A producer was asked for with a setting it cannot have."""

    code = "PEN-461"

    def __init__(self, *, setting: str, found: object, expected: str) -> None:
        super().__init__(
            f"`{setting}` is {found!r}, and must be {expected}",
            hint=f"correct `{setting}=` where the producer is made",
        )


class WaitingInCallbackError(UsageError):
    """An `on_delivery` function waits for a delivery that its own thread would have to report."""

    code = "PEN-463"

    def __init__(self, call: str) -> None:
        super().__init__(
            f"`{call}` was called inside an `on_delivery` function and would wait for itself",
            hint="use `send(...)` there, or hand the work to another thread",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTerms:
    """What an error has to know about the producer that met it."""

    bootstrap: str
    max_record_bytes: int
    batch_bytes: int
    delivery_timeout_seconds: float


def too_large_here(record: OutgoingRecord, terms: DeliveryTerms) -> RecordTooLargeError:
    """Return the error for a record that the producer itself refuses by its size."""
    return RecordTooLargeError(
        record.topic,
        reason=f"it has {record.byte_count} bytes, and this producer allows "
        f"{terms.max_record_bytes}",
        hint="raise `max_record_bytes=` of the producer, and `max.message.bytes` of the topic; or "
        "store the content elsewhere and send a reference",
    )


def delivery_error(
    err: KafkaError,
    *,
    topic: str,
    partition: int | None,
    byte_count: int,
    terms: DeliveryTerms,
    refusal: Refusal | None = None,
) -> DeliveryError:
    """Return what `err` in a delivery report means for the record.

    `refusal` is that the cluster has refused the producer as a whole, of which no report tells.
    """
    code = err.code()
    if refusal is not None and (code in _UNEXPLAINED or err.fatal()):
        return DeliveryError(topic, reason=refusal.message, hint=refusal.hint)
    if code in _BROKEN_PRODUCER or err.fatal():
        return ProducerFailedError(topic, reason=err.str())
    if code == _TOO_LARGE:
        return _too_large_there(topic, byte_count, terms)
    if code in _TIMED_OUT:
        return _timed_out(topic, terms)
    if code in _GIVEN_UP:
        return RetriableDeliveryError(
            topic,
            reason="the producer was closed before it was acknowledged",
            hint="send it again; `close(timeout_seconds=…)` says how long to wait",
        )
    if code == _UNKNOWN_PARTITION:
        return DeliveryError(
            topic,
            reason=f"the topic has no partition {partition}",
            hint=f"`penstock topics describe {topic}` shows its partitions",
        )
    cause = translated(err, action=f"write to `{topic}`", bootstrap=terms.bootstrap, topic=topic)
    kind = RetriableDeliveryError if cause.retryable else DeliveryError
    return kind(topic, reason=cause.message, hint=cause.hint)


def _too_large_there(topic: str, byte_count: int, terms: DeliveryTerms) -> RecordTooLargeError:
    """Tell a record that was alone in its batch from one that had company.

    The broker measures batches and refuses them whole, and the client does not split them. A
    record of `batch_bytes` or more has no company.
    """
    alter = f"`penstock topics alter {topic} --set max.message.bytes=…`"
    if byte_count >= terms.batch_bytes:
        return RecordTooLargeError(
            topic,
            reason=f"it has {byte_count} bytes, and the topic's `max.message.bytes` is less",
            hint=f"{alter}, or store the content elsewhere and send a reference",
        )
    return RecordTooLargeError(
        topic,
        reason=f"it has {byte_count} bytes, and the batch it was sent in is larger than the "
        f"topic's `max.message.bytes`",
        hint=f"{alter}, or set `batch_bytes=` of the producer (now {terms.batch_bytes}) below it",
    )


def _timed_out(topic: str, terms: DeliveryTerms) -> RetriableDeliveryError:
    return RetriableDeliveryError(
        topic,
        reason=f"`{terms.bootstrap}` did not acknowledge it within "
        f"{terms.delivery_timeout_seconds:g} s",
        hint="`penstock cluster describe` shows brokers and leaders; raise "
        "`delivery_timeout_seconds`, or keep records on disk with `spool=`",
    )


def _records(count: int) -> str:
    return f"{count} record" if count == 1 else f"{count} records"
