"""The bytes of a spool file: how a record becomes an entry, and how entries are read back.

A file begins with `MAGIC`. An entry is the length of its body, the CRC-32 of that length, that of
the body (4 bytes each, big endian), then the body. The length has a checksum of its own so that
a reader tells an entry that was cut short (the process died while it wrote) from one that was
damaged later: only the first may be dropped.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.records import Header, OutgoingRecord, milliseconds_of, moment_of
from penstock.names import Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"PENSPL1\n"

_CHECKSUMS = struct.Struct(">II")
_NUMBERS = struct.Struct(">iqI")  # partition, timestamp in milliseconds, number of headers
_LENGTH = struct.Struct(">i")
_FRAME_SIZE = _LENGTH.size + _CHECKSUMS.size
_NULL = -1
_NO_PARTITION = -1
_NO_TIMESTAMP = -(2**63)


class TornEntry(Exception):  # noqa: N818 - a signal to the reader, not a fault
    """The file ends inside an entry."""


class DamagedEntry(Exception):  # noqa: N818 - a signal to the reader, not a fault
    """An entry is complete, and its bytes are not those that were written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as read from a spool, and the bytes it takes there."""

    record: OutgoingRecord
    byte_count: int


def encoded(record: OutgoingRecord) -> bytes:
    """Return `record` as an entry."""
    timestamp = _NO_TIMESTAMP if record.timestamp is None else milliseconds_of(record.timestamp)
    partition = _NO_PARTITION if record.partition is None else record.partition
    parts = [_NUMBERS.pack(partition, timestamp, len(record.headers))]
    parts += [_field(record.topic.encode()), _field(record.key), _field(record.value)]
    for header in record.headers:
        parts += [_field(header.name.encode()), _field(header.value)]
    body = b"".join(parts)
    length = _LENGTH.pack(len(body))
    return length + _CHECKSUMS.pack(zlib.crc32(length), zlib.crc32(body)) + body


def read_entry(data: bytes, start: int) -> Entry | None:
    """Return the entry at `start`, or None at the end of `data`.

    Raises:
        TornEntry: `data` ends inside the entry.
        DamagedEntry: its checksum does not fit.
    """
    if start == len(data):
        return None
    body_start = start + _FRAME_SIZE
    if body_start > len(data):
        raise TornEntry
    length_bytes = data[start : start + _LENGTH.size]
    (length,) = _LENGTH.unpack(length_bytes)
    length_checksum, checksum = _CHECKSUMS.unpack_from(data, start + _LENGTH.size)
    if zlib.crc32(length_bytes) != length_checksum:
        raise DamagedEntry
    body = data[body_start : body_start + length]
    if len(body) < length:
        raise TornEntry
    if zlib.crc32(body) != checksum:
        raise DamagedEntry
    return Entry(record=_decoded(body), byte_count=_FRAME_SIZE + length)


def entries_of(data: bytes) -> Iterator[Entry]:
    """Yield the entries of a whole file.

    Raises:
        TornEntry: after the last complete entry, when the file ends inside one.
        DamagedEntry: at the first entry, or beginning of file, that is not as it was written.
    """
    position = len(MAGIC)
    if len(data) < position and MAGIC.startswith(data):
        raise TornEntry
    if data[:position] != MAGIC:
        raise DamagedEntry
    while (entry := read_entry(data, position)) is not None:
        yield entry
        position += entry.byte_count


class SegmentReader:
    """Reads the entries of one file in order, also while the file grows."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._file.seek(len(MAGIC))
        self._data = b""
        self._position = 0

    def next(self) -> Entry:
        """Return the next entry, which the caller knows to have been written completely.

        Raises:
            DamagedEntry: it is not there, or not as it was written.
        """
        try:
            entry = read_entry(self._data, self._position)
        except TornEntry:
            entry = None
        entry = entry or self._next_after_reading_on()
        self._position += entry.byte_count
        return entry

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _next_after_reading_on(self) -> Entry:
        self._data = self._data[self._position :] + self._file.read()
        self._position = 0
        try:
            entry = read_entry(self._data, 0)
        except TornEntry as err:
            raise DamagedEntry from err
        if entry is None:
            raise DamagedEntry
        return entry


def _field(data: bytes | None) -> bytes:
    return _LENGTH.pack(_NULL) if data is None else _LENGTH.pack(len(data)) + data


def _decoded(body: bytes) -> OutgoingRecord:
    partition, timestamp, header_count = _NUMBERS.unpack_from(body)
    fields = _fields(body, _NUMBERS.size)
    topic, key, value = next(fields), next(fields), next(fields)
    headers = tuple(
        Header(name=(next(fields) or b"").decode(), value=next(fields)) for _ in range(header_count)
    )
    return OutgoingRecord(
        topic=TopicName((topic or b"").decode()),
        key=key,
        value=value,
        headers=headers,
        partition=None if partition == _NO_PARTITION else Partition(partition),
        timestamp=None if timestamp == _NO_TIMESTAMP else moment_of(timestamp),
    )


def _fields(body: bytes, position: int) -> Iterator[bytes | None]:
    while position < len(body):
        (length,) = _LENGTH.unpack_from(body, position)
        position += _LENGTH.size
        if length == _NULL:
            yield None
        else:
            yield body[position : position + length]
            position += length
