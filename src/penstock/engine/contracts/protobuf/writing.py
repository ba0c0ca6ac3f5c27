"""Writing: structs of Arrow become the bytes of messages, one field of all rows after the other."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import json_format
from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.engine.contracts.protobuf.records import UNFIT
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
    enum_of,
    fields_of,
    message_of,
    oneofs_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from penstock.engine.contracts.protobuf.descriptors import MessageType

_SECOND = 1_000_000
_ANY = "google.protobuf.Any"

Values = list[Any]
"""What Protobuf's Python takes for a field; None where it stays unset."""


class SeveralSetError(ValueError):
    """More than one field of a oneof is set."""

    def __init__(self, oneof: str) -> None:
        super().__init__(f"`{oneof}` is a oneof, and several of its fields are set")


class NotJsonError(ValueError):
    """A text is not the JSON of its message."""

    def __init__(self, value: Value, error: Exception) -> None:
        kind = message_of(value.field).full_name
        super().__init__(f"`{value.field.name}` is not JSON of `{kind}`: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWriter:
    """Writes rows as messages, without the wire prefix."""

    message: MessageType
    indexes: bytes
    """What stands before every message."""

    def write(self, rows: pa.Array) -> pa.Array:
        """Return the bytes of each row; null for a null row, and for one that is no message."""
        bodies = pa.array(
            [None if isinstance(one, Exception) else one for one in self._encoded(rows)],
            pa.binary(),
        )
        return pc.binary_join_element_wise(pa.scalar(self.indexes), bodies, pa.scalar(b""))

    def problems(self, rows: pa.Array) -> pa.Array:
        """Return why rows are no messages; null for those that are."""
        told = [str(one) if isinstance(one, Exception) else None for one in self._encoded(rows)]
        return pa.array(told, pa.string())

    def _encoded(self, rows: pa.Array) -> list[bytes | Exception | None]:
        """Return the messages of rows; of some that do not all fit, those of each half."""
        try:
            return [
                # Keys must be the same bytes for the same columns, and maps have no order.
                None if message is None else message.SerializeToString(deterministic=True)
                for message in _writer(self.message).messages(rows)
            ]
        except (*UNFIT, EncodeError) as error:
            middle = len(rows) // 2
            if not middle:
                return [error]
            return self._encoded(rows.slice(0, middle)) + self._encoded(rows.slice(middle))


@lru_cache(maxsize=256)
def _writer(message: MessageType) -> _StructWriter:
    descriptor = message.descriptor()
    return _StructWriter(fields_of(descriptor), descriptor)


class _StructWriter:
    """Makes structs messages of one descriptor; the columns are those of its fields, by name."""

    def __init__(self, fields: Sequence[Field], message: Descriptor) -> None:
        self._fields = {field.name: field for field in fields}
        self._class = GetMessageClass(message)
        self._oneofs = oneofs_of(message)

    def messages(self, rows: pa.Array) -> list[Message | None]:
        names = [column.name for column in rows.type]
        columns = [
            _field_values(self._fields[name], column)
            for name, column in zip(names, rows.flatten(), strict=True)
        ]
        is_there = rows.is_valid().to_pylist()
        return [
            self._message(dict(zip(names, row, strict=True))) if there else None
            for there, row in zip(is_there, zip(*columns, strict=True), strict=True)
        ]

    def _message(self, values: dict[str, Any]) -> Message:
        for oneof, names in self._oneofs.items():
            if sum(values.get(name) is not None for name in names) > 1:
                raise SeveralSetError(oneof)  # Protobuf would take the last, without a word
        return self._class(**values)


def _field_values(field: Field, column: pa.Array) -> Values:
    match field.many:
        case Many.ONE:
            return _values(field.value, column)
        case Many.LIST:
            found = iter(_values(field.value, column.flatten()))
            return [None if size is None else list(islice(found, size)) for size in _sizes(column)]
        case Many.MAP:
            assert field.key is not None  # noqa: S101 - a map has one
            keys, items = _entries(column).flatten().flatten()
            pairs = zip(_values(field.key, keys), _values(field.value, items), strict=True)
            sizes = _sizes(_entries(column))
            return [None if size is None else dict(islice(pairs, size)) for size in sizes]


def _entries(maps: pa.Array) -> pa.Array:
    """Return maps as lists of pairs, for which Arrow has more functions."""
    pair = pa.struct([maps.type.key_field, maps.type.item_field])
    return maps.cast(pa.list_(pa.field("entries", pair, nullable=False)))


def _sizes(column: pa.Array) -> list[int | None]:
    sizes: list[int | None] = pc.list_value_length(column).to_pylist()
    return sizes


def _values(value: Value, column: pa.Array) -> Values:
    """Return single values as Protobuf takes them."""
    if value.form is Form.STRUCT:
        return list(_StructWriter(value.fields, message_of(value.field)).messages(column))
    if value.form in (Form.TIMESTAMP, Form.DURATION):
        column = column.cast(pa.int64())
    values: Values = column.to_pylist()
    match value.form:
        case Form.INTEGER:
            return [None if one is None else int(one) for one in values]
        case Form.ENUM:
            numbers = {name: number for number, name in enum_names(value.field).items()}
            numbers |= {one.name: one.number for one in enum_of(value.field).values}
            return [None if one is None else _number(numbers, one) for one in values]
        case Form.BOOLEAN | Form.FLOAT | Form.TEXT | Form.BYTES:
            return values
    kind = GetMessageClass(message_of(value.field))
    return [None if one is None else _message(value, kind, one) for one in values]


def _message(field: Value, kind: type[Message], value: Any) -> Message | None:  # noqa: ANN401 - of any type
    match field.form:
        case Form.TIMESTAMP:
            seconds, micros = divmod(value, _SECOND)
            if not FIRST_SECOND <= seconds <= LAST_SECOND:
                raise OutOfRangeError(str(field.field.name))
            return kind(seconds=seconds, nanos=micros * 1000)
        case Form.DURATION:
            # Both have the sign of the whole, so it is not `divmod` that divides.
            seconds, micros = divmod(abs(value), _SECOND)
            if seconds > LONGEST_SECONDS:
                raise OutOfRangeError(str(field.field.name))
            sign = -1 if value < 0 else 1
            return kind(seconds=sign * seconds, nanos=sign * micros * 1000)
        case Form.DECIMAL:
            return kind(**_decimal_parts(value))
        case Form.MARK:
            return kind() if value else None
        case Form.JSON:
            try:
                return _from_json(kind, value)
            except UNFIT as error:
                raise NotJsonError(field, error) from error
        case _:
            return kind(value=value)


def _number(numbers: dict[str, int], text: str) -> int:
    """Return the number of an enum's name; a value that has none is written as its number."""
    return numbers[text] if text in numbers else int(text)


def _decimal_parts(value: Decimal) -> dict[str, Any]:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    size = unscaled.bit_length() // 8 + 1
    return {
        "value": unscaled.to_bytes(size, "big", signed=True),
        "precision": len(digits),
        "scale": -int(exponent),
    }


def _from_json(kind: type[Message], text: str) -> Message:
    pool: Any = kind.DESCRIPTOR.file.pool
    try:
        return json_format.Parse(text, kind(), descriptor_pool=pool)
    except json_format.ParseError:
        found = json.loads(text) if kind.DESCRIPTOR.full_name == _ANY else None
        # A message that the schema does not know is read as its bytes, and written so again.
        if not isinstance(found, dict) or found.keys() != {"@type", "value"}:
            raise
        return kind(type_url=found["@type"], value=b64decode(found["value"], validate=True))
