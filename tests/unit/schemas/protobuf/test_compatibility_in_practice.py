"""Verdicts agree with what happens when one schema writes and the other reads.

Random pairs of schemas are compared, and random messages are written with the one and read with the
other. If the verdict is that they can be read, then they are, and every field that has the same
type on both sides has the same value. The reverse does not hold: removing a message, say, harms no
record.
"""

from dataclasses import dataclass, replace

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.schemas.protobuf import ProtobufSchema, parse
from penstock.schemas.protobuf.messages import message_class

NUMBERS = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "bool": st.booleans(),
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "fixed32": st.integers(0, 2**32 - 1),
    "sfixed32": st.integers(-(2**31), 2**31 - 1),
    "fixed64": st.integers(0, 2**64 - 1),
    "sfixed64": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "Color": st.sampled_from([0, 1, 5]),
}
TEXTS = {
    "string": st.text(max_size=5),
    # Text for the one and bytes for the other is compatible as long as the bytes are UTF-8.
    "bytes": st.text(max_size=5).map(str.encode),
}
SCALARS = NUMBERS | TEXTS
MESSAGES = ("Inner", "Other")
MAPS = ("map<int32, string>", "map<bool, Inner>")
COLOR = "enum Color { RED = 0; BLUE = 1; GREEN = 5; }"


@dataclass(frozen=True)
class Field:
    """A field to write or to read; its name is its number."""

    number: int
    kind: str
    label: str = ""
    oneof: str = ""

    def __str__(self) -> str:
        return f"{self.label} {self.kind} f{self.number} = {self.number};"


@st.composite
def field_lists(draw: st.DrawFn, *, proto3: bool) -> list[Field]:
    """Draw the fields of a message."""
    return [draw(_new_field(number, proto3=proto3)) for number in range(1, draw(st.integers(3, 5)))]


@st.composite
def _new_field(draw: st.DrawFn, number: int, *, proto3: bool) -> Field:
    kind = draw(st.sampled_from([*NUMBERS]) | st.sampled_from([*TEXTS, *MESSAGES, *MAPS]))
    if kind.startswith("map"):
        return Field(number=number, kind=kind)
    oneof = draw(st.sampled_from(["", "", "p", "q"]))
    labels = ["", "optional", "repeated"] if proto3 else ["optional", "required", "repeated"]
    return Field(
        number=number, kind=kind, label="" if oneof else draw(st.sampled_from(labels)), oneof=oneof
    )


@st.composite
def changed(draw: st.DrawFn, written: list[Field], *, proto3: bool) -> list[Field]:
    """Draw fields that differ from those written in one way, and perhaps a field more."""
    change = draw(st.sampled_from(["oneof", "label", "kind", "removal"]))
    read = [draw(_altered(one, change, proto3=proto3)) for one in written]
    if draw(st.booleans()):
        read.append(draw(_new_field(9, proto3=proto3)))
    return [one for one in read if one is not None]


@st.composite
def _altered(draw: st.DrawFn, field: Field, change: str, *, proto3: bool) -> Field | None:
    if draw(st.booleans()):
        return field
    singular = not field.kind.startswith("map") and field.label != "repeated"
    match change:
        case "oneof" if singular:
            return replace(field, oneof="p", label="")
        case "label" if singular and not field.oneof:
            labels = ["repeated", ""] if proto3 else ["required", "required", "repeated"]
            return replace(field, label=draw(st.sampled_from(labels)))
        case "kind" if field.kind in SCALARS:
            return replace(field, kind=draw(st.sampled_from([*SCALARS, *MESSAGES])))
        case "removal":
            return None
    return field


def text_of(written: list[Field], inner: list[Field], *, proto3: bool) -> str:
    """Return a schema whose first message has these fields."""
    oneofs = sorted({one.oneof for one in written if one.oneof})
    lines = [str(one) for one in written if not one.oneof]
    for name in oneofs:
        members = " ".join(str(one) for one in written if one.oneof == name)
        lines.append(f"oneof {name} {{ {members} }}")
    root = f"message Root {{ {' '.join(lines)} }} message Other {{}}"
    inside = f"message Inner {{ {' '.join(map(str, inner))} }}"
    return f'syntax = "proto{3 if proto3 else 2}"; {root} {inside} {COLOR}'


@st.composite
def schema_pairs(draw: st.DrawFn) -> tuple[ProtobufSchema, ProtobufSchema]:
    """Draw the schema of a writer and that of a reader."""
    proto3 = draw(st.booleans())
    written = draw(field_lists(proto3=proto3))
    scalars = st.sampled_from(
        [[], [Field(1, "int32", "optional")], [Field(1, "string", "repeated")]]
    )
    inner = draw(scalars)
    read = draw(changed(written, proto3=proto3))
    other_inner = draw(st.just(inner) | scalars)
    writer = parse(text_of(written, inner, proto3=proto3))
    return writer, parse(text_of(read, other_inner, proto3=proto3))


def fill(draw: st.DrawFn, message: Message) -> None:
    """Set fields of a message at random, required ones always."""
    oneofs: set[str] = set()
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if oneof is not None and oneof.name in oneofs:
            continue
        if field.is_required or draw(st.integers(0, 4)):
            oneofs |= {oneof.name} if oneof is not None else set()
            fill_field(draw, message, field)


def fill_field(draw: st.DrawFn, message: Message, field: FieldDescriptor) -> None:
    """Set one field at random."""
    values = getattr(message, field.name)
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        if kind.fields_by_name["value"].message_type is None:
            values[draw(st.integers(0, 3))] = draw(TEXTS["string"])
        else:
            fill(draw, values[draw(st.booleans())])
    elif kind is not None:
        inner = values.add() if field.is_repeated else values
        inner.SetInParent()
        fill(draw, inner)
    elif field.is_repeated:
        values.extend(draw(st.lists(SCALARS[scalar(field)], min_size=1, max_size=3)))
    else:
        setattr(message, field.name, draw(SCALARS[scalar(field)]))


def scalar(field: FieldDescriptor) -> str:
    """Return the name that the type of a field has in a schema."""
    if field.enum_type is not None:
        return "Color"
    types = {getattr(FieldDescriptor, f"TYPE_{name.upper()}", None): name for name in SCALARS}
    return types[field.type]


def lost(written: Message, read: Message) -> list[str]:
    """Return the fields that have the same type on both sides, and not the same value."""
    readers = {field.number: field for field in read.DESCRIPTOR.fields}
    found = []
    for field, value in written.ListFields():
        other = readers.get(field.number)
        if other is None or (other.type, other.is_repeated) != (field.type, field.is_repeated):
            continue
        inside = field.message_type
        if inside is not None and not field.is_repeated:
            found += lost(value, getattr(read, other.name))
        elif inside is None and getattr(read, other.name) != value:
            found.append(field.name)
    return found


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema_pairs(), st.data())
def test_what_is_said_to_be_readable_is_read_with_the_same_values(
    pair: tuple[ProtobufSchema, ProtobufSchema], data: st.DataObject
) -> None:
    writer, reader = pair
    assume(not reader.can_read(writer))
    written = message_class(writer)()
    fill(data.draw, written)
    read = message_class(reader).FromString(written.SerializeToString())
    assert read.IsInitialized()
    assert lost(written, read) == []
