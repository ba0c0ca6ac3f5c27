"""Random Protobuf schemas, and others that differ from them a little."""

from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from hypothesis import strategies as st

from penstock.schemas.protobuf import ProtobufSchema

SIGNED = {
    bits: st.sampled_from([1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]) for bits in (32, 64)
}
UNSIGNED = {bits: st.sampled_from([1, 2, 2**bits - 1]) for bits in (32, 64)}
# No value is the default one: whether that is read or missing makes no difference.
NUMBERS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), SIGNED[32]),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), SIGNED[64]),
    **dict.fromkeys(("uint32", "fixed32"), UNSIGNED[32]),
    **dict.fromkeys(("uint64", "fixed64"), UNSIGNED[64]),
    **dict.fromkeys(("float", "double"), st.sampled_from([0.5, -0.25, float("inf")])),
    "bool": st.sampled_from([True]),
    "Color": st.sampled_from([1, 5]),
}
TEXTS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(min_size=1, max_size=3),
    # Text for the one and bytes for the other is compatible as long as the bytes are UTF-8.
    "bytes": st.text(min_size=1, max_size=3).map(str.encode),
}
SCALARS = NUMBERS | TEXTS
MESSAGES = ("Inner", "Other")
MAPS = {"map<int32, string>": ("int32", "string"), "map<bool, Inner>": ("bool", "Inner")}


@dataclass(frozen=True)
class Field:
    """A field to write or to read; its name is its number."""

    number: int
    kind: str
    label: str = ""
    oneof: str = ""


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
    if draw(st.integers(0, 3 if change in ("oneof", "label") else 1)) == 0:
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


def schema_of(root: list[Field], inner: list[Field], *, proto3: bool) -> ProtobufSchema:
    """Return a schema whose first message has the fields of `root`.

    The descriptor is built here: to ask protoc for hundreds of them would take seconds.
    """
    file = FileDescriptorProto(name="default", syntax="proto3" if proto3 else "proto2")
    add_message(file, "Root", root)
    add_message(file, "Inner", inner)
    add_message(file, "Other", [])
    color = file.enum_type.add(name="Color")
    for name, number in (("RED", 0), ("BLUE", 1), ("GREEN", 5)):
        color.value.add(name=name, number=number)
    return ProtobufSchema("", (), [file])


def add_message(file: FileDescriptorProto, name: str, fields: list[Field]) -> None:
    """Add a message with these fields, as protoc would."""
    message = file.message_type.add(name=name)
    oneofs = sorted({field.oneof for field in fields if field.oneof})
    for oneof in oneofs:
        message.oneof_decl.add(name=oneof)
    for field in _together(fields):
        added = message.field.add(name=f"f{field.number}", number=field.number)
        added.label = FieldDescriptorProto.Label.Value(
            f"LABEL_{(field.label or 'optional').upper()}"
        )
        set_type(added, field.kind, message)
        if field.oneof:
            added.oneof_index = oneofs.index(field.oneof)
        elif file.syntax == "proto3" and field.label == "optional":
            added.proto3_optional = True
            added.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_f{field.number}")


def _together(fields: list[Field]) -> list[Field]:
    """Return the fields with those of a oneof one after the other, as they are in a text."""
    firsts = {field.oneof: field.number for field in reversed(fields)}
    alone = [(field.number if not field.oneof else firsts[field.oneof], field) for field in fields]
    return [field for _, field in sorted(alone, key=lambda item: item[0])]


def set_type(added: FieldDescriptorProto, kind: str, message: DescriptorProto) -> None:
    """Give a field its type, and a map its entry."""
    if kind in MAPS:
        added.label = FieldDescriptorProto.LABEL_REPEATED
        entry = message.nested_type.add(name=f"F{added.number}Entry")
        entry.options.map_entry = True
        for number, (part, name) in enumerate(zip(MAPS[kind], ("key", "value"), strict=True), 1):
            one = entry.field.add(name=name, number=number, label=added.LABEL_OPTIONAL)
            set_type(one, part, entry)
        added.type, added.type_name = added.TYPE_MESSAGE, f".{message.name}.{entry.name}"
    elif kind in (*MESSAGES, "Color"):
        added.type = added.TYPE_ENUM if kind == "Color" else added.TYPE_MESSAGE
        added.type_name = f".{kind}"
    else:
        added.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")


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
    writer = schema_of(written, inner, proto3=proto3)
    return writer, schema_of(read, other_inner, proto3=proto3)
