"""Reading: messages become Arrow arrays, one field of all messages after the other.

Messages are those of the writer's schema, columns those of the reader's; fields meet by number. So
a field may be renamed, be of another integer type, or be missing on one side.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from pyspark.sql.pandas.types import to_arrow_type

from penstock.engine.contracts.protobuf.shapes import (
    FIRST_SECOND,
    LAST_SECOND,
    LONGEST_SECONDS,
    Field,
    Form,
    Many,
    OutOfRangeError,
    Value,
    enum_names,
    form_of,
    many_of,
    message_of,
    missing_of,
    struct_type,
)

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

Values = Sequence[Any]
"""What Protobuf's Python has for the values of a field; None where there is none."""

Build = Callable[[Values], pa.Array]
"""Makes values an array of the same length."""

_SECOND = 1_000_000
_NANO_LIMIT = 1_000_000_000


class UnlikeFieldsError(Exception):
    """What is written in a field is nothing that the reader's column could hold."""

    def __init__(self, path: str, *, reader: FieldDescriptor, writer: FieldDescriptor) -> None:
        super().__init__(
            f"field {reader.number}, `{path}`, was written as {_described(writer)}, "
            f"which is no {_described(reader)}"
        )


class StructReader:
    """Makes messages of one writer's descriptor structs of the reader's fields."""

    def __init__(self, fields: Sequence[Field], writer: Descriptor, path: str = "") -> None:
        """Find the writer's field for each of the reader's.

        Raises:
            UnlikeFieldsError: two fields of one number have nothing in common.
        """
        self._fields = list(to_arrow_type(struct_type(tuple(fields)), timezone="UTC"))
        self._columns = [
            _column(field, writer.fields_by_number.get(field.field.number), path + field.name)
            for field in fields
        ]

    def array(self, messages: Sequence[Message]) -> pa.StructArray:
        """Return the structs of `messages`.

        Raises:
            ValueError, TypeError, ArithmeticError: a value does not fit its column.
        """
        arrays = [column(messages) for column in self._columns]
        return pa.StructArray.from_arrays(arrays, fields=self._fields)


_Column = Callable[[Sequence[Any]], pa.Array]


def _column(field: Field, writer: FieldDescriptor | None, path: str) -> _Column:
    """Return what makes messages the column of one field."""
    if writer is None:
        return _absent(field)
    if (field.many is Many.MAP) is not (many_of(writer) is Many.MAP):
        raise UnlikeFieldsError(path, reader=field.field, writer=writer)
    match field.many:
        case Many.ONE:
            return _one(field, writer, path)
        case Many.LIST:
            return _list(field, writer, path)
        case Many.MAP:
            return _map(field, writer, path)


def _absent(field: Field) -> _Column:
    kind = _arrow(field.type)
    missing = pa.scalar(missing_of(field.field) if field.many is Many.ONE else [], kind)
    return lambda messages: pa.repeat(missing, len(messages))


def _one(field: Field, writer: FieldDescriptor, path: str) -> _Column:
    build, single = _build(field.value, writer, path), _singles(writer)
    missing = pa.scalar(missing_of(field.field), _arrow(field.type))

    def array(messages: Sequence[Any]) -> pa.Array:
        built = build(single(messages))
        return built.fill_null(missing) if missing.is_valid and built.null_count else built

    return array


def _singles(writer: FieldDescriptor) -> Callable[[Sequence[Any]], Values]:
    """Return what takes one value from each message: of several the last, as Protobuf has it."""
    name, get = writer.name, attrgetter(writer.name)
    if writer.is_repeated:
        return lambda messages: [found[-1] if (found := get(one)) else None for one in messages]
    if writer.has_presence:
        return lambda messages: [get(one) if one.HasField(name) else None for one in messages]
    return lambda messages: list(map(get, messages))


def _list(field: Field, writer: FieldDescriptor, path: str) -> _Column:
    build, kind = _build(field.value, writer, path), _arrow(field.type)
    lists = _lists(writer)

    def array(messages: Sequence[Any]) -> pa.Array:
        found = lists(messages)
        flat = build(list(chain.from_iterable(found)))
        return pa.ListArray.from_arrays(_offsets(found), flat, type=kind)

    return array


def _lists(writer: FieldDescriptor) -> Callable[[Sequence[Any]], list[Any]]:
    """Return what takes the values from each message; a single one is a list of it."""
    name, get = writer.name, attrgetter(writer.name)
    if writer.is_repeated:
        return lambda messages: list(map(get, messages))
    if writer.has_presence:
        return lambda messages: [[get(one)] if one.HasField(name) else [] for one in messages]
    return lambda messages: [[found] if (found := get(one)) else [] for one in messages]


def _map(field: Field, writer: FieldDescriptor, path: str) -> _Column:
    assert field.key is not None  # noqa: S101 - a map has one
    entry, get, kind = message_of(writer).fields_by_name, attrgetter(writer.name), field.type
    keys = _build(field.key, entry["key"], f"{path}.key")
    items = _build(field.value, entry["value"], f"{path}.value")
    arrow = _arrow(kind)

    def array(messages: Sequence[Any]) -> pa.Array:
        maps = list(map(get, messages))
        flat_keys = keys(list(chain.from_iterable(maps)))
        flat_items = items(list(chain.from_iterable(one.values() for one in maps)))
        return pa.MapArray.from_arrays(_offsets(maps), flat_keys, flat_items, type=arrow)

    return array


def _offsets(lists: Sequence[Any]) -> pa.Array:
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, lists), np.int32, len(lists)), out=offsets[1:])
    return pa.array(offsets)


def _build(value: Value, writer: FieldDescriptor, path: str) -> Build:
    """Return what makes single values of the writer's field values of the reader's column."""
    kind, written = _arrow(value.type), form_of(writer)
    if value.form in _PLAIN or value.form is Form.ENUM:
        return _plain(value, writer, path)
    if value.form is Form.JSON and writer.message_type is not None:
        return _of_present(_json, kind)
    if value.form is not written:
        raise UnlikeFieldsError(path, reader=value.field, writer=writer)
    match value.form:
        case Form.TIMESTAMP:
            return _of_present(_times(path, kind, first=FIRST_SECOND, last=LAST_SECOND), kind)
        case Form.DURATION:
            limit = LONGEST_SECONDS
            return _of_present(_times(path, kind, first=-limit, last=limit), kind)
        case Form.WRAPPER:
            return _wrapped(value, writer, path)
        case Form.DECIMAL:
            return _of_present(lambda found: pa.array(map(_decimal, found), kind), kind)
        case Form.MARK:
            return _of_present(lambda found: pa.array([True] * len(found)), kind)
        case _:
            reader = StructReader(value.fields, message_of(writer), f"{path}.")
            return _of_present(reader.array, kind)


def _of_present(build: Build, kind: pa.DataType) -> Build:
    """Return what hands only the messages that are there to `build`, and puts nulls between."""

    def array(values: Values) -> pa.Array:
        found = [value for value in values if value is not None]
        if not found:
            return pa.nulls(len(values), kind)
        built = build(found)
        if len(found) == len(values):
            return built
        is_there = np.fromiter((value is not None for value in values), np.bool_, len(values))
        return built.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))

    return array


def _wrapped(value: Value, writer: FieldDescriptor, path: str) -> Build:
    assert value.wrapped is not None  # noqa: S101 - that is what a wrapper is
    build = _build(value.wrapped, message_of(writer).fields_by_name["value"], path)
    get = attrgetter("value")
    return _of_present(lambda found: build(list(map(get, found))), _arrow(value.type))


def _times(path: str, kind: pa.DataType, *, first: int, last: int) -> Build:
    """Return what makes microseconds of `Timestamp` or `Duration`; the rest is cut off."""

    def array(found: Values) -> pa.Array:
        count = len(found)
        seconds = np.fromiter(map(attrgetter("seconds"), found), np.int64, count)
        nanos = np.fromiter(map(attrgetter("nanos"), found), np.int64, count)
        if seconds.min() < first or seconds.max() > last or abs(nanos).max() >= _NANO_LIMIT:
            raise OutOfRangeError(path)
        # Towards zero for negative durations, whose nanoseconds are negative as well.
        micros = np.sign(nanos) * (abs(nanos) // 1000)
        return pa.array(seconds * _SECOND + micros).cast(kind)

    return array


def _decimal(message: Any) -> Decimal:  # noqa: ANN401 - Confluent's `Decimal`
    sign, digits, _ = Decimal(int.from_bytes(message.value, "big", signed=True)).as_tuple()
    # Arithmetic would round to the digits of the context.
    return Decimal((sign, digits, -message.scale))


def _json(found: Values) -> pa.Array:
    return pa.array([_json_text(message) for message in found], pa.string())


def _json_text(message: Any) -> str:  # noqa: ANN401 - a message
    try:
        value = json_format.MessageToDict(
            message,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
            descriptor_pool=message.DESCRIPTOR.file.pool,
        )
    except TypeError:
        if message.DESCRIPTOR.full_name != "google.protobuf.Any":
            raise
        # The schema does not know the message inside: its bytes are all there is to show.
        value = {"@type": message.type_url, "value": b64encode(message.value).decode()}
    return json.dumps(value, ensure_ascii=False)


_PLAIN: dict[Form, dict[Form, Callable[[Any], object] | None]] = {
    Form.INTEGER: {Form.INTEGER: None, Form.ENUM: None, Form.BOOLEAN: int},
    Form.BOOLEAN: {Form.BOOLEAN: None, Form.INTEGER: bool, Form.ENUM: bool},
    Form.FLOAT: {Form.FLOAT: None},
    Form.TEXT: {Form.TEXT: None, Form.BYTES: bytes.decode},
    Form.BYTES: {Form.BYTES: None, Form.TEXT: str.encode},
}
"""What makes a value of the second form one of the first; nothing needs to, if it is None."""


def _plain(value: Value, writer: FieldDescriptor, path: str) -> Build:
    kind, written = _arrow(value.type), form_of(writer)
    if value.form is Form.ENUM and written in _PLAIN[Form.INTEGER]:
        names = _Names(value.field, writer)
        return lambda values: pa.array([names[number] for number in values], kind)
    if written not in _PLAIN.get(value.form, {}) or _narrows(value.field, writer):
        raise UnlikeFieldsError(path, reader=value.field, writer=writer)
    cast = _PLAIN[value.form][written]
    if cast is None:
        return lambda values: pa.array(values, kind)
    return lambda values: pa.array([None if one is None else cast(one) for one in values], kind)


def _narrows(reader: FieldDescriptor, writer: FieldDescriptor) -> bool:
    return reader.type == reader.TYPE_FLOAT and writer.type == writer.TYPE_DOUBLE


class _Names(dict[int | None, str | None]):
    """The names of an enum as the reader has them, or else the writer; or else the number."""

    def __init__(self, reader: FieldDescriptor, writer: FieldDescriptor) -> None:
        super().__init__({None: None})
        for field in (writer, reader):
            for number, name in enum_names(field).items() if field.enum_type is not None else ():
                self[number] = name

    def __missing__(self, number: int | None) -> str:
        return str(int(number or 0))


def _arrow(kind: Any) -> pa.DataType:  # noqa: ANN401 - a type of Spark
    return to_arrow_type(kind, timezone="UTC")


_TYPE_NAMES = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}


def _described(field: FieldDescriptor) -> str:
    if field.message_type is not None and many_of(field) is not Many.MAP:
        return f"message `{field.message_type.full_name}`"
    if field.message_type is not None:
        return "map"
    if field.enum_type is not None:
        return f"enum `{field.enum_type.full_name}`"
    return _TYPE_NAMES[field.type]
