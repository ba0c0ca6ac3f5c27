"""Records on executors: bytes in the wire format become structs, a batch of Arrow at a time.

Which ids are known, and what happens to others, is decided outside, in expressions (`decoder.py`).
Nothing here throws for a wrong record: it has no message and a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.engine.contracts.protobuf.reading import StructReader
from penstock.engine.contracts.protobuf.shapes import fields_of
from penstock.engine.contracts.wire import PREFIX_LENGTH
from penstock.schemas.protobuf.errors import MessageIndexesError
from penstock.schemas.protobuf.indexes import decode_indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from penstock.engine.contracts.protobuf.descriptors import MessageType

MESSAGE, PROBLEM = "message", "problem"
"""The fields of what a record becomes: a struct, or else why there is none."""

UNFIT = (ValueError, TypeError, ArithmeticError, RecursionError, json_format.Error)
"""How Arrow and Protobuf say that a value does not fit; Arrow's own errors are among them."""

_MAX_BYTES = 2**31 - 1
"""Of a record. Arrow's function wants an end: without one it fails on records of a few bytes."""

_CHUNK = 1_000
"""How many messages are alive at a time; of more, each finds the processor's cache empty."""

_Rows = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBy:
    """The records of one schema id."""

    id: int
    prefix: bytes
    message: MessageType
    indexes: tuple[bytes, ...]
    """What can stand between prefix and message, if it is that message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReader:
    """Reads the records of all writers into the columns of one reader."""

    reader: MessageType
    writers: tuple[WrittenBy, ...]

    def read(self, values: pa.Array) -> pa.Array:
        """Return a struct of `message` and `problem` for each value; both are null for null."""
        batch = _Batch(len(values))
        prefixes = pc.binary_slice(values, 0, PREFIX_LENGTH).dictionary_encode()
        codes = prefixes.indices.fill_null(-1).to_numpy()
        known = {writer.prefix: writer for writer in self.writers}
        for code, prefix in enumerate(prefixes.dictionary.to_pylist()):
            if prefix in known:
                rows = np.flatnonzero(codes == code)
                self._read_written(known[prefix], values, rows, batch)
        return batch.structs(_message_array(self.reader, self.reader).of([]))

    def _read_written(
        self, writer: WrittenBy, values: pa.Array, rows: _Rows, batch: _Batch
    ) -> None:
        for indexes in writer.indexes:
            head = writer.prefix + indexes
            found = values if len(rows) == len(values) else values.take(pa.array(rows))
            fits = pc.starts_with(found, head).to_numpy(zero_copy_only=False)
            here, rows = rows[fits], rows[~fits]
            found = found if fits.all() else found.filter(pa.array(fits))
            bodies = pc.binary_slice(found, len(head), _MAX_BYTES)
            for at in range(0, len(here), _CHUNK):
                some = bodies.slice(at, _CHUNK).to_pylist()
                self._parse(writer, some, here[at : at + _CHUNK], batch)
        for row in rows:
            batch.refuse(row, _misplaced(writer, values[int(row)].as_py()))

    def _parse(self, writer: WrittenBy, bodies: list[bytes], rows: _Rows, batch: _Batch) -> None:
        messages, bad = _message_array(self.reader, writer.message).parsed(bodies)
        for at, problem in bad.items():
            batch.refuse(rows[at], _not_one(writer, problem))
        if bad:
            rows = np.delete(rows, list(bad))
        self._convert(writer, messages, rows, batch)

    def _convert(
        self, writer: WrittenBy, messages: Sequence[Any], rows: _Rows, batch: _Batch
    ) -> None:
        """Add the structs of messages; of some that do not all fit, those of each half."""
        if not len(messages):
            return
        try:
            batch.add(rows, _message_array(self.reader, writer.message).of(messages))
        except UNFIT as error:
            middle = len(messages) // 2
            if not middle:
                batch.refuse(rows[0], _not_one(writer, str(error)))
                return
            self._convert(writer, messages[:middle], rows[:middle], batch)
            self._convert(writer, messages[middle:], rows[middle:], batch)


class _Batch:
    """What has become of the records of a batch so far."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._arrays: list[pa.Array] = []
        self._rows: list[_Rows] = []
        self._problems: dict[int, str] = {}

    def add(self, rows: _Rows, structs: pa.Array) -> None:
        self._rows.append(rows)
        self._arrays.append(structs)

    def refuse(self, row: np.int64, problem: str) -> None:
        self._problems[int(row)] = problem

    def structs(self, nothing: pa.Array) -> pa.Array:
        """Return all records in their order; `nothing` is an array of no messages."""
        problems = [self._problems.get(row) for row in range(self._size)] if self._problems else []
        told = pa.array(problems, pa.string()) if problems else pa.nulls(self._size, pa.string())
        return pa.StructArray.from_arrays([self._messages(nothing), told], [MESSAGE, PROBLEM])

    def _messages(self, nothing: pa.Array) -> pa.Array:
        together = pa.concat_arrays([*self._arrays, nothing])
        rows = np.concatenate([*self._rows, np.zeros(0, np.int64)])
        if np.array_equal(rows, np.arange(self._size)):
            return together
        places = np.full(self._size, -1)
        places[rows] = np.arange(len(rows))
        return together.take(pa.array(places, mask=places < 0))


class _MessageArray:
    """Messages of one writer, parsed and made structs of one reader."""

    def __init__(self, reader: Descriptor, writer: Descriptor) -> None:
        self._reader = StructReader(fields_of(reader), writer)
        self._class = GetMessageClass(writer)
        self._has_required = has_required(writer)

    def parsed(self, bodies: Sequence[bytes]) -> tuple[list[Message], dict[int, str]]:
        """Return the messages; of bytes that are none, what is wrong with them by position."""
        if not self._has_required:
            try:
                return list(map(self._class.FromString, bodies)), {}
            except DecodeError:
                pass
        found = [self._parsed(body) for body in bodies]
        problems = {at: one for at, one in enumerate(found) if isinstance(one, str)}
        return [one for one in found if not isinstance(one, str)], problems

    def _parsed(self, body: bytes) -> Message | str:
        try:
            message = self._class.FromString(body)
        except DecodeError as error:
            said = str(error).rpartition(": ")[2]  # before it stands the name of the message
            return said[:1].lower() + said[1:]
        if self._has_required and not message.IsInitialized():
            missing = message.FindInitializationErrors()  # type: ignore[attr-defined]  # no stub
            return f"`{missing[0]}` is required and missing"
        return message

    def of(self, messages: Sequence[Message]) -> pa.Array:
        """Return structs; raises one of `UNFIT` if a value fits no column."""
        return self._reader.array(messages)


@lru_cache(maxsize=256)
def _message_array(reader: MessageType, writer: MessageType) -> _MessageArray:
    """Return what reads these messages; the same for all batches of a process."""
    return _MessageArray(reader.descriptor(), writer.descriptor())


def has_required(message: Descriptor) -> bool:
    """Tell whether a field of `message`, or of one inside, is required."""
    return any(field.is_required for one in _with_inner(message) for field in one.fields)


def _with_inner(message: Descriptor) -> Iterator[Descriptor]:
    waiting, seen = [message], set()
    while waiting:
        one = waiting.pop()
        if one.full_name not in seen:
            seen.add(one.full_name)
            yield one
            waiting += [field.message_type for field in one.fields if field.message_type]


def _not_one(writer: WrittenBy, reason: str) -> str:
    return f"is not a `{writer.message.name}` of schema id {writer.id}: {reason}"


def _misplaced(writer: WrittenBy, value: bytes) -> str:
    try:
        indexes, _ = decode_indexes(value[PREFIX_LENGTH:])
    except MessageIndexesError:
        return f"has no message indexes after schema id {writer.id}"
    path = ", ".join(map(str, indexes))
    return f"holds message [{path}] of schema id {writer.id}, which is not `{writer.message.name}`"
