"""Records of writers that died before they could commit, for readers that take them for real.

Our readers see committed records alone. Confluent's registry, which may serve the topic before or
after us, reads everything. What was aborted stands at the end of the topic, behind the last
committed record: the next to enter finds it there before anything else is written. Writing what is
valid for its keys behind it makes both kinds of readers see the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka.consumer.commits import Manual
from penstock.kafka.consumer.consumer import Consumer
from penstock.kafka.consumer.membership import Start
from penstock.kafka.offsets import Isolation
from penstock.kafka.schemas_log.records import LogRecord
from penstock.kafka.tables.topic import partition_of
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kafka.connection import Connection
    from penstock.kafka.records import Record
    from penstock.names import TopicName

# A transaction that was committed last has left its marker behind its records.
_MARKER = 1


def corrections(
    connection: Connection, topic: TopicName, *, records_end: Offset, end: Offset
) -> list[LogRecord]:
    """Return what to write so that aborted records count for nobody; usually nothing.

    Args:
        connection: how to reach the cluster.
        topic: the log, to which nobody writes meanwhile.
        records_end: the offset behind its last committed record.
        end: its end.

    Raises:
        ClusterError: the cluster is away, or refuses.
    """
    if end - records_end <= _MARKER:
        return []
    hidden = _records(connection, topic, records_end, Isolation.READ_UNCOMMITTED)
    keys = {record.key for record in hidden if record.key is not None}
    if not keys:
        return []
    valid: dict[bytes, bytes | None] = dict.fromkeys(sorted(keys))
    for record in _records(connection, topic, Offset(0), Isolation.READ_COMMITTED):
        if record.key in keys:
            valid[record.key] = record.value
    return [LogRecord(key=key, value=value) for key, value in valid.items()]


def _records(
    connection: Connection, topic: TopicName, start: Offset, isolation: Isolation
) -> Iterator[Record]:
    partition = partition_of(topic)
    with Consumer(connection, commit=Manual(), isolation=isolation) as consumer:
        consumer.assign([partition], {partition: start} if start else Start.EARLIEST)
        yield from consumer.read_to_end()
