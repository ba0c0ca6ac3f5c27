"""Verdicts agree with what happens when one schema writes and the other reads.

Random pairs of schemas are compared, and random messages are written with the one and read with the
other. If the verdict is that they can be read, then they are, and every field that has the same
type on both sides has the same value. The reverse does not hold: removing a message, say, harms no
record.
"""

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.schemas.protobuf import ProtobufSchema
from penstock.schemas.protobuf.messages import message_class
from support.protobuf_schemas import SCALARS, TEXTS, schema_pairs

Draw = Callable[[st.SearchStrategy[Any]], Any]


def fill(draw: Draw, message: Message) -> None:
    """Set all fields of a message or some, required ones always."""
    every = draw(st.booleans())
    oneofs: set[str] = set()
    descriptor: Descriptor = message.DESCRIPTOR  # type: ignore[assignment]  # in C, the same
    for field in descriptor.fields:
        oneof = field.containing_oneof
        if oneof is not None and oneof.name in oneofs:
            continue
        if field.is_required or every or draw(st.booleans()):
            oneofs |= {oneof.name} if oneof is not None else set()
            fill_field(draw, message, field)


def fill_field(draw: Draw, message: Message, field: FieldDescriptor) -> None:
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
            found += [] if read.HasField(other.name) else [field.name]
            found += lost(value, getattr(read, other.name))
        elif inside is None and getattr(read, other.name) != value:
            found.append(field.name)
    return found


@settings(max_examples=50)
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
