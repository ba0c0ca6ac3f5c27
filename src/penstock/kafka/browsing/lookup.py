"""One record by its offset."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from penstock.kafka.admin import Admin
from penstock.kafka.browsing.errors import RecordNotThereError
from penstock.kafka.browsing.slices import Slice, SliceReader
from penstock.kafka.consumer.excerpts import partitions_to_read
from penstock.kafka.errors import RequestTimedOutError
from penstock.kafka.offsets import Isolation, end_offsets, first_offsets
from penstock.names import Offset

if TYPE_CHECKING:
    from penstock.kafka.connection import Connection
    from penstock.kafka.records import Record
    from penstock.names import TopicName


def find_record(
    connection: Connection,
    topic: TopicName,
    partition: int,
    offset: int,
    *,
    isolation: Isolation = Isolation.READ_COMMITTED,
) -> Record:
    """Return the record at `offset`.

    Raises:
        RecordNotThereError: it is gone or not yet there, or no record but a marker, or it may
            not be seen in this isolation.
        UnknownTopicError, UnknownPartitionError: there is no such topic or partition.
        ClusterError: another subclass, for what else went wrong.
    """
    with Admin(connection) as admin:
        (item,) = partitions_to_read(admin, [topic], [partition])
        first = first_offsets(admin, [item])[item]
        end = end_offsets(admin, [item], isolation=isolation)[item]
    if not first <= offset < end:
        raise RecordNotThereError(item, offset=offset, first=first, end=end)
    deadline = time.monotonic() + connection.request_timeout_seconds
    with SliceReader(connection, isolation) as reader:
        contents = reader.read(
            [Slice(item, Offset(offset), Offset(offset + 1))],
            keep_bytes=0,
            keep_newest=True,
            is_over=lambda: time.monotonic() > deadline,
        ).get(item)
    if contents is None:
        action = f"read `{item}`"
        raise RequestTimedOutError(action, bootstrap=connection.bootstrap)
    if not contents.records:
        raise RecordNotThereError(item, offset=offset, first=first, end=end)
    return contents.records[0]
