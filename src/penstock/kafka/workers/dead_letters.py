"""Dead letters: records that a handler could not take, kept with the reason.

Key, value and the record's own headers stay as they are. The headers that say where it came from
and why it failed have the names that Kafka Connect uses, so that the same tools read both.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from penstock.kafka.records import Header, OutgoingRecord

if TYPE_CHECKING:
    from penstock.kafka.records import Record
    from penstock.names import GroupId, TopicName

PREFIX = "__connect.errors."
MAX_TRACE_CHARACTERS = 8000
"""A trace of some pages says enough; the record itself must still fit below the broker's limit."""


def dead_letter(
    record: Record, *, topic: TopicName, group: GroupId, handler: str, error: BaseException
) -> OutgoingRecord:
    """Return what goes to the dead-letter topic `topic` for a `record` that `handler` refused.

    A record that comes from a dead-letter topic itself keeps its older headers in front.
    """
    trace = "".join(traceback.format_exception(error))
    reason = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "connector.name": group,
        "stage": "HANDLER",
        "class.name": handler,
        "exception.class.name": f"{type(error).__module__}.{type(error).__qualname__}",
        "exception.message": str(error),
        "exception.stacktrace": trace[-MAX_TRACE_CHARACTERS:],
    }
    return OutgoingRecord(
        topic=topic,
        key=record.key,
        value=record.value,
        headers=record.headers + tuple(_header(name, text) for name, text in reason.items()),
        timestamp=record.timestamp,
    )


def _header(name: str, text: str) -> Header:
    return Header(PREFIX + name, text.encode("utf-8", errors="backslashreplace"))
