"""From what a caller hands over to a record that can be sent: encoding and checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from penstock.kafka.producer.errors import InvalidRecordError
from penstock.kafka.records import Header, OutgoingRecord, milliseconds_of
from penstock.names import Partition, TopicName

Content = str | bytes | None
"""A key or a value: text is encoded as UTF-8, bytes are sent as they are, None is null."""

Headers = Mapping[str, Content] | Sequence[tuple[str, Content] | Header]
"""Names may repeat in a sequence."""

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def outgoing_record(
    topic: str,
    value: Content,
    *,
    key: Content = None,
    headers: Headers = (),
    partition: int | None = None,
    timestamp: datetime | None = None,
) -> OutgoingRecord:
    """Return the record to send.

    Raises:
        InvalidRecordError: a part of it cannot be sent.
    """
    _require_topic_name(topic)
    if partition is not None:
        _require_partition(partition)
    if timestamp is not None:
        _require_moment(timestamp)
    return OutgoingRecord(
        topic=TopicName(topic),
        key=_encoded("key", key),
        value=_encoded("value", value),
        headers=_headers(headers) if headers else (),
        partition=None if partition is None else Partition(partition),
        timestamp=timestamp,
    )


def _encoded(part: str, content: Content) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        try:
            return content.encode("utf-8")
        except UnicodeEncodeError as err:
            raise InvalidRecordError(
                reason=f"its {part} is text that UTF-8 cannot express: {err.reason}",
                hint="send bytes, encoded as the readers expect them",
            ) from err
    raise InvalidRecordError(
        reason=f"its {part} is a `{type(content).__name__}`, and must be str, bytes or None",
        hint="encode it first, for example with `json.dumps(...)`",
    )


def _headers(headers: Headers) -> tuple[Header, ...]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple(_header(pair) for pair in pairs)


def _header(pair: tuple[str, Content] | Header) -> Header:
    if isinstance(pair, Header):
        return pair
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
        raise InvalidRecordError(
            reason=f"header `{pair!r}` is not a name with a value",
            hint='write `headers={"name": "value"}` or `headers=[("name", b"value")]`',
        )
    _encoded("header name", pair[0])
    return Header(name=pair[0], value=_encoded(f"header `{pair[0]}`", pair[1]))


@lru_cache(maxsize=1024)
def _is_topic_name(text: str) -> bool:
    return bool(_TOPIC.fullmatch(text)) and text not in (".", "..")


def _require_topic_name(topic: str) -> None:
    if not isinstance(topic, str) or not _is_topic_name(topic):
        raise InvalidRecordError(
            reason=f"`{topic}` cannot be the name of a topic",
            hint="1 to 249 of these: letters, digits, `.`, `_`, `-`",
        )


def _require_partition(partition: int) -> None:
    if not isinstance(partition, int) or isinstance(partition, bool) or partition < 0:
        raise InvalidRecordError(
            reason=f"its partition is `{partition!r}`", hint="partitions are counted from 0"
        )


def _require_moment(timestamp: datetime) -> None:
    if not isinstance(timestamp, datetime) or timestamp.tzinfo is None:
        raise InvalidRecordError(
            reason=f"its timestamp is `{timestamp!r}`, without a time zone",
            hint="write `datetime.now(UTC)` or `datetime(..., tzinfo=UTC)`",
        )
    if milliseconds_of(timestamp) <= 0:
        raise InvalidRecordError(
            reason=f"its timestamp is `{timestamp}`", hint="Kafka's client counts from 1970 on"
        )
