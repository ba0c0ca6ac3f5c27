"""The spool on disk: records that were accepted, in order, until the cluster has acknowledged them.

A spool is a folder: segments of entries (`<sequence of the first>.entries`), the `cursor` (the
first sequence that is not acknowledged), a `lock`, and `refused.jsonl` with the records that the
cluster will never take. Sending is the work of `spool_feeder.py`; the bytes of an entry are in
`spool_entries.py`.

What is promised: when `append` has returned, the record survives the death of this process
(`kill -9`), because it has been handed to the operating system; an entry that was cut short is one
whose `append` never returned, and is dropped. A power failure can take what was appended since the
last `sync`, at most about a second. A segment is removed when all of its records are acknowledged.
Two processes cannot open the same spool.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import struct
import time
import zlib
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError
from penstock.kafka.producer.spool_entries import (
    MAGIC,
    DamagedEntry,
    Entry,
    SegmentReader,
    TornEntry,
    encoded,
    entries_of,
)
from penstock.kafka.records import outgoing_as_json

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kafka.producer.errors import DeliveryError
    from penstock.kafka.records import OutgoingRecord

logger = logging.getLogger(__name__)

SUFFIX = ".entries"
# Small enough that acknowledged records leave the disk soon, large enough that a full spool of
# 1 GB is a few hundred files.
SEGMENT_BYTES = 4_000_000
# Kafka itself does not sync every record; once a second bounds what a power failure can take
# and costs less than one percent of the time on a slow disk.
SYNC_INTERVAL_SECONDS = 1.0

_CURSOR = struct.Struct(">QI")
_SEQUENCE = struct.Struct(">Q")


class SpoolFullError(PenstockError):
    """The spool has reached its limit; the record was not accepted."""

    code = "PEN-464"
    retryable = True

    def __init__(self, folder: Path, *, pending: int, limit_bytes: int) -> None:
        super().__init__(
            f"spool `{folder}` is full: {pending} records wait in {limit_bytes} bytes allowed",
            hint="bring the cluster back (`penstock cluster describe`), or raise "
            "`spool_limit_bytes=`",
        )


class SpoolInUseError(UsageError):
    """Another producer has the spool open."""

    code = "PEN-465"

    def __init__(self, folder: Path, *, holder: str) -> None:
        super().__init__(
            f"spool `{folder}` is in use by process {holder}",
            hint="give each producer a spool folder of its own",
        )


class SpoolDamagedError(PenstockError):
    """The spool's files are not as they were written."""

    code = "PEN-466"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"spool file `{path}` is damaged: {reason}",
            hint="restore the file from a copy; or move the spool folder aside, which gives up "
            "the records in it that were not sent",
        )


class SpoolWriteError(PenstockError):
    """The spool's disk does not take the record; the record was not accepted."""

    code = "PEN-467"
    retryable = True

    def __init__(self, folder: Path, *, reason: str) -> None:
        super().__init__(
            f"spool `{folder}` cannot be written: {reason}",
            hint="free space on that disk, or choose another folder with `spool=`",
        )


class Spool:
    """An ordered store of unacknowledged records. Not thread-safe: its owner holds a lock."""

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._active: int | None = None  # file descriptor of the segment that grows
        self._active_bytes = 0
        self._synced_at = time.monotonic()
        self._dirty = False
        self._lock_file = _lock(folder)
        try:
            self._load()
        except BaseException:
            os.close(self._lock_file)
            raise

    @property
    def pending(self) -> int:
        """The records that are not acknowledged."""
        return self._next - self._cursor - len(self._done)

    @property
    def handed_out(self) -> int:
        """The length of the window between the first unacknowledged record and the reader."""
        return self._read_next - self._cursor

    @property
    def has_unread(self) -> bool:
        """Whether `next_entry` would return one."""
        return self._read_next < self._next

    def append(self, record: OutgoingRecord) -> int:
        """Store `record` and return its sequence number.

        Raises:
            SpoolFullError: the unacknowledged records fill the spool.
            SpoolWriteError: the disk refuses.
        """
        entry = encoded(record)
        if self._pending_bytes + len(entry) > self._limit_bytes:
            raise SpoolFullError(self.folder, pending=self.pending, limit_bytes=self._limit_bytes)
        try:
            self._write(entry)
        except OSError as err:
            raise SpoolWriteError(self.folder, reason=err.strerror or str(err)) from err
        sequence = self._next
        self._next += 1
        self._pending_bytes += len(entry)
        return sequence

    def next_entry(self) -> tuple[int, Entry] | None:
        """Return the next record in order that is not acknowledged, or None when all were read.

        Raises:
            SpoolDamagedError: the file has changed since it was written.
        """
        while self.has_unread:
            sequence, entry = self._read_next, self._read()
            self._read_next += 1
            if sequence in self._done:
                continue
            self._sizes[sequence] = entry.byte_count
            return sequence, entry
        return None

    def acknowledge(self, sequence: int) -> None:
        """Note that the record is safe in the cluster; remove segments that are done with."""
        if sequence < self._cursor or sequence in self._done:
            return
        self._done.add(sequence)
        self._pending_bytes -= self._sizes.pop(sequence)
        if sequence == self._cursor:
            self._advance()

    def rewind(self) -> None:
        """Let `next_entry` begin again at the first record that is not acknowledged."""
        self._leave_segment()
        self._sizes.clear()
        self._read_next = self._cursor

    def refuse(self, record: OutgoingRecord, error: PenstockError | DeliveryError) -> None:
        """Put aside a record that will never be taken, as `penstock produce` can read it."""
        line = json.dumps(outgoing_as_json(record) | {"error": error.as_dict()})
        with (self.folder / "refused.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def sync_if_due(self) -> None:
        """Make what was appended survive a power failure, when the last time is a second ago."""
        now = time.monotonic()
        if self._dirty and now - self._synced_at >= SYNC_INTERVAL_SECONDS:
            self._sync()

    def close(self) -> None:
        """Sync, remove the files when nothing waits in them, and let others open the spool."""
        self._leave_segment()
        self._finish_segment()
        os.fsync(self._cursor_file)
        if not self.pending:
            for first in self._segments:
                self._path(first).unlink(missing_ok=True)
        os.close(self._cursor_file)
        os.close(self._lock_file)

    def _load(self) -> None:
        self._cursor_file = os.open(self.folder / "cursor", os.O_RDWR | os.O_CREAT, 0o600)
        stored = _stored_cursor(self._cursor_file)
        self._segments = sorted(int(path.stem) for path in self.folder.glob(f"*{SUFFIX}"))
        self._cursor = stored if stored is not None else next(iter(self._segments), 0)
        self._next = self._cursor
        self._pending_bytes = 0
        self._done: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._read_next = self._cursor
        self._reader: SegmentReader | None = None
        for first in list(self._segments):
            self._load_segment(first)

    def _load_segment(self, first: int) -> None:
        """Check the segment, count what is not acknowledged, cut off a torn end."""
        path, last = self._path(first), first == self._segments[-1]
        sizes, torn = _checked_sizes(path)
        if torn and not last:
            raise SpoolDamagedError(path, reason="it ends inside an entry, and is not the last")
        if first > self._next:
            raise SpoolDamagedError(path, reason=f"the records from {self._next} on are missing")
        if torn:
            logger.warning("dropped an entry that was cut short", extra={"spool": str(path)})
            os.truncate(path, len(MAGIC) + sum(sizes))
        if first + len(sizes) <= self._cursor or not sizes:
            path.unlink()
            self._segments.remove(first)
            return
        self._next = first + len(sizes)
        self._pending_bytes += sum(sizes[max(0, self._cursor - first) :])

    def _write(self, entry: bytes) -> None:
        if self._active is not None and self._active_bytes + len(entry) > SEGMENT_BYTES:
            self._finish_segment()
        if self._active is None:
            self._start_segment()
        assert self._active is not None  # noqa: S101 - `_start_segment` sets it or raises
        try:
            written = os.write(self._active, entry)
            if written < len(entry):
                os.write(self._active, entry[written:])  # raises what the disk has against it
        except OSError:
            os.ftruncate(self._active, self._active_bytes)
            raise
        self._active_bytes += len(entry)
        self._dirty = True

    def _start_segment(self) -> None:
        descriptor = os.open(
            self._path(self._next), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600
        )
        os.write(descriptor, MAGIC)
        _sync_folder(self.folder)
        self._active, self._active_bytes = descriptor, len(MAGIC)
        self._segments.append(self._next)

    def _finish_segment(self) -> None:
        if self._active is not None:
            self._sync()
            os.close(self._active)
            self._active = None

    def _sync(self) -> None:
        if self._active is not None:
            os.fsync(self._active)
        os.fsync(self._cursor_file)
        self._dirty = False
        self._synced_at = time.monotonic()

    def _advance(self) -> None:
        """Move the cursor over what is acknowledged, and remove the segments before it."""
        before = self._cursor
        while self._cursor in self._done:
            self._done.remove(self._cursor)
            self._cursor += 1
        if self._cursor == before:
            return
        body = _SEQUENCE.pack(self._cursor)
        os.pwrite(self._cursor_file, _CURSOR.pack(self._cursor, zlib.crc32(body)), 0)
        while len(self._segments) > 1 and self._segments[1] <= self._cursor:
            # The cursor first: a power failure must not leave one that points before the segments.
            os.fsync(self._cursor_file)
            self._path(self._segments.pop(0)).unlink(missing_ok=True)

    def _leave_segment(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _read(self) -> Entry:
        if self._reader is None or self._read_next in self._segments:
            self._enter_segment()
        assert self._reader is not None  # noqa: S101 - entering opens one
        try:
            return self._reader.next()
        except DamagedEntry as err:
            raise SpoolDamagedError(
                self._path(self._segment_of(self._read_next)), reason="an entry has changed"
            ) from err

    def _enter_segment(self) -> None:
        self._leave_segment()
        first = self._segment_of(self._read_next)
        self._reader = SegmentReader(self._path(first))
        for _ in range(first, self._read_next):
            self._reader.next()

    def _segment_of(self, sequence: int) -> int:
        return max(first for first in self._segments if first <= sequence)

    def _path(self, first: int) -> Path:
        return self.folder / f"{first:020d}{SUFFIX}"


def _lock(folder: Path) -> int:
    """Take the folder for this process; the operating system frees it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as err:
        holder = os.pread(descriptor, 20, 0).decode("ascii", errors="replace").strip()
        os.close(descriptor)
        raise SpoolInUseError(folder, holder=holder or "unknown") from err
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
    return descriptor


def _stored_cursor(descriptor: int) -> int | None:
    """Return what was stored; None when it is missing or damaged, which only costs repetition."""
    data = os.pread(descriptor, _CURSOR.size, 0)
    if len(data) < _CURSOR.size:
        return None
    sequence, checksum = _CURSOR.unpack(data)
    return int(sequence) if zlib.crc32(data[: _SEQUENCE.size]) == checksum else None


def _checked_sizes(path: Path) -> tuple[list[int], bool]:
    """Return the sizes of the complete entries, and whether the file ends inside one more."""
    sizes: list[int] = []
    try:
        sizes.extend(entry.byte_count for entry in entries_of(path.read_bytes()))
    except TornEntry:
        return sizes, True
    except DamagedEntry as err:
        raise SpoolDamagedError(
            path, reason=f"entry {len(sizes) + 1} does not fit its checksum"
        ) from err
    return sizes, False


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
