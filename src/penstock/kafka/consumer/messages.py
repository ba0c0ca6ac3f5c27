"""The client's messages as records of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from penstock.kafka.records import Header, Record, TimestampType, moment_of

if TYPE_CHECKING:
    from confluent_kafka import Message

    from penstock.names import Offset, Partition, TopicName

_TIMESTAMP_TYPES = {
    TIMESTAMP_CREATE_TIME: TimestampType.CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME: TimestampType.LOG_APPEND_TIME,
}


def record_of(message: Message) -> Record:
    """Return `message` as a record; it must not be one that reports an error."""
    kind, milliseconds = message.timestamp()
    timestamp_type = _TIMESTAMP_TYPES.get(kind)
    return Record(
        topic=cast("TopicName", message.topic()),
        partition=cast("Partition", message.partition()),
        offset=cast("Offset", message.offset()),
        key=message.key(),
        value=message.value(),
        headers=tuple(Header(name, value) for name, value in _headers(message)),
        timestamp=None if timestamp_type is None else moment_of(milliseconds),
        timestamp_type=timestamp_type,
    )


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    # What was received comes as a list of pairs; the client's types also allow what is sent.
    return cast("list[tuple[str, bytes | None]]", message.headers() or [])
