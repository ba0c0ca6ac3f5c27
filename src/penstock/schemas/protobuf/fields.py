"""Fields as the wire sees them: what bytes written for one mean to the reader of another."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from penstock.schemas.protobuf.printing import in_oneof, type_text

_Type = FieldDescriptorProto


class Kind(StrEnum):
    """How a value is laid out."""

    SCALAR = "scalar"
    MESSAGE = "message"
    GROUP = "group"
    MAP = "map"


class Label(StrEnum):
    """What is written before a field; nothing before most of proto3, and in a oneof."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    REPEATED = "repeated"
    NONE = ""


class Scalar(Enum):
    """Groups of scalar types within which values are read as each other."""

    VARINT = "varint"
    ZIGZAG = "zig-zag varint"
    FIXED32 = "four bytes"
    FIXED64 = "eight bytes"
    FLOAT = "float"
    DOUBLE = "double"
    TEXT = "text"


_SCALARS = {
    _Type.TYPE_INT32: Scalar.VARINT,
    _Type.TYPE_INT64: Scalar.VARINT,
    _Type.TYPE_UINT32: Scalar.VARINT,
    _Type.TYPE_UINT64: Scalar.VARINT,
    _Type.TYPE_BOOL: Scalar.VARINT,
    _Type.TYPE_ENUM: Scalar.VARINT,
    _Type.TYPE_SINT32: Scalar.ZIGZAG,
    _Type.TYPE_SINT64: Scalar.ZIGZAG,
    _Type.TYPE_FIXED32: Scalar.FIXED32,
    _Type.TYPE_SFIXED32: Scalar.FIXED32,
    _Type.TYPE_FIXED64: Scalar.FIXED64,
    _Type.TYPE_SFIXED64: Scalar.FIXED64,
    _Type.TYPE_FLOAT: Scalar.FLOAT,
    _Type.TYPE_DOUBLE: Scalar.DOUBLE,
    _Type.TYPE_STRING: Scalar.TEXT,
    _Type.TYPE_BYTES: Scalar.TEXT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The type of a field, or of a map's keys or values."""

    kind: Kind
    text: str
    """As it is written."""

    scalar: Scalar | None = None
    type_name: str = ""
    """The full name of the message, with a dot before it."""

    entry: tuple["Value", "Value"] | None = None
    """The key and the value of a map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a message."""

    name: str
    number: int
    label: Label
    oneof: str | None
    value: Value

    def __str__(self) -> str:
        """Return the field as it is written, without its number."""
        label = "" if self.value.kind is Kind.MAP else self.label
        return " ".join(filter(None, (label, self.value.text, self.name)))


def fields_of(
    message: DescriptorProto, entries: dict[str, DescriptorProto], *, proto3: bool
) -> dict[int, Field]:
    """Return the fields of `message` by number.

    Args:
        message: The message.
        entries: The entries of its maps, by full name.
        proto3: Whether fields without a label are meant to have none.
    """
    return {
        one.number: Field(
            name=one.name,
            number=one.number,
            label=_label(one, proto3=proto3),
            oneof=message.oneof_decl[one.oneof_index].name if in_oneof(one) else None,
            value=_value(one, entries),
        )
        for one in message.field
    }


def _label(one: FieldDescriptorProto, *, proto3: bool) -> Label:
    if one.label == _Type.LABEL_REPEATED:
        return Label.REPEATED
    if one.label == _Type.LABEL_REQUIRED:
        return Label.REQUIRED
    if in_oneof(one) or (proto3 and not one.proto3_optional):
        return Label.NONE
    return Label.OPTIONAL


def _value(one: FieldDescriptorProto, entries: dict[str, DescriptorProto]) -> Value:
    text = type_text(one)
    if one.type == _Type.TYPE_GROUP:
        return Value(kind=Kind.GROUP, text=f"group {text}", type_name=text)
    if one.type != _Type.TYPE_MESSAGE:
        return Value(kind=Kind.SCALAR, text=text, scalar=_SCALARS[one.type])
    entry = entries.get(one.type_name)
    if entry is None:
        return Value(kind=Kind.MESSAGE, text=text, type_name=text)
    key, value = (_value(part, {}) for part in entry.field)
    return Value(kind=Kind.MAP, text=f"map<{key.text}, {value.text}>", entry=(key, value))
