"""Records as Penstock hands them out and takes them in: keys and values are bytes.

`as_json` is the form that `penstock consume --json` prints and `penstock produce --format records`
reads: text where the bytes are UTF-8, base64 (`key_base64`, `value_base64`) where they are not, so
that what was consumed can be produced again byte for byte.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.names import Offset, Partition, TopicName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimestampType(StrEnum):
    """Who wrote a record's timestamp."""

    CREATE_TIME = "create time"
    """The producer, when it made the record."""

    LOG_APPEND_TIME = "log append time"
    """The broker, when it appended the record."""


@dataclass(frozen=True, slots=True)
class Header:
    """One header of a record. Names may repeat; a value may be null."""

    name: str
    value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it stands in a partition. A null value is a tombstone."""

    topic: TopicName
    partition: Partition
    offset: Offset
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: datetime | None = None
    timestamp_type: TimestampType | None = None

    @property
    def byte_count(self) -> int:
        """The bytes of key, value and headers."""
        return _byte_count(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Where a record that was sent now stands.

    `offset` is None when it was sent with `acks=0`: nobody confirms such a record.
    `latency_seconds` is the time from sending to the acknowledgement.
    """

    topic: TopicName
    partition: Partition
    offset: Offset | None
    timestamp: datetime | None = None
    latency_seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRecord:
    """A record to be sent. A null value is a tombstone; without a partition the key decides."""

    topic: TopicName
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    partition: Partition | None = None
    timestamp: datetime | None = None

    @property
    def byte_count(self) -> int:
        """The bytes of key, value and headers, as the client's own limit counts them."""
        return _byte_count(self)


def moment_of(milliseconds: int) -> datetime:
    """Return the moment that Kafka writes as `milliseconds` since 1970."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def milliseconds_of(moment: datetime) -> int:
    """Return `moment` as Kafka writes it: whole milliseconds since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def as_json(record: Record) -> dict[str, object]:
    """Return `record` as the object that is printed as one line of JSON."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": _iso(record.timestamp),
        **payload_as_json(record),
    }


def payload_as_json(record: Record | OutgoingRecord) -> dict[str, object]:
    """Return key, value and headers of `record`: the part that is the same before and after."""
    return {
        **text_or_base64("key", record.key),
        **text_or_base64("value", record.value),
        "headers": [
            {"name": header.name, **text_or_base64("value", header.value)}
            for header in record.headers
        ],
    }


def outgoing_as_json(record: OutgoingRecord) -> dict[str, object]:
    """Return a record that could not be sent as `penstock produce --format records` reads it."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": _iso(record.timestamp),
        **payload_as_json(record),
    }


def _byte_count(record: Record | OutgoingRecord) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    if record.headers:
        size += sum(len(h.name.encode()) + len(h.value or b"") for h in record.headers)
    return size


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def text_or_base64(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return `data` as text under `name`, or as base64 under `name_base64`."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}
