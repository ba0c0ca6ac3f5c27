"""Protobuf's messages and JSON's objects: which message a schema id means, and what is wrong.

A message type is built from the serialized descriptors that the registry hands out, so that no
compiler is needed to read or write.
"""

from __future__ import annotations

import base64
from functools import reduce
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from penstock.kafka.formats.errors import UndecodableRecordError, UnfitRecordError
from penstock.kafka.formats.fields import below, mismatch, unknown_field
from penstock.names import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.schemas import RegisteredSchema

_ROOT = "schema.proto"  # the name of the file is not part of a registered schema
_TYPES = {
    value: name.removeprefix("TYPE_").lower()
    for name, value in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


def message_type(
    source: SchemaSource, schema: RegisteredSchema, indexes: Sequence[int]
) -> type[Message]:
    """Return the message of a serialized schema that `indexes` lead to.

    Raises:
        UndecodableRecordError: the schema has no such message.
    """
    pool = DescriptorPool()
    _add(pool, source, schema, _ROOT)
    file = pool.FindFileByName(_ROOT)
    found: Descriptor | None = None
    for index in indexes:
        inner = list(found.nested_types if found else file.message_types_by_name.values())
        if not 0 <= index < len(inner):
            reason = f"the schema has no message at {list(indexes)}"
            raise UndecodableRecordError(reason)
        found = inner[index]
    if found is None:
        raise UndecodableRecordError(reason="the record names no message")
    return GetMessageClass(found)


def _add(pool: DescriptorPool, source: SchemaSource, schema: RegisteredSchema, name: str) -> None:
    """Add a file and all that it imports: from the registry, or what Protobuf comes with."""
    file = descriptor_pb2.FileDescriptorProto()
    file.ParseFromString(base64.b64decode(schema.text))
    file.name = name
    references = {item.name: item for item in schema.references}
    for imported in file.dependency:
        if _has(pool, imported):
            continue
        reference = references.get(imported)
        if reference is None:
            _add_known(pool, imported)
            continue
        inner = source.version(
            Subject(reference.subject), reference.version, deleted=True, serialized=True
        )
        _add(pool, source, inner, imported)
    pool.Add(file)  # type: ignore[no-untyped-call]


def _add_known(pool: DescriptorPool, name: str) -> None:
    """Add a file that comes with Protobuf, such as `google/protobuf/timestamp.proto`."""
    known = Default().FindFileByName(name)
    for imported in known.dependencies:
        if not _has(pool, imported.name):
            _add_known(pool, imported.name)
    pool.AddSerializedFile(known.serialized_pb)


def _has(pool: DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


def message_of(kind: type[Message], document: object) -> Message:
    """Return the message that a JSON object stands for.

    Raises:
        UnfitRecordError: the message has no such fields or values; names the field.
    """
    message = kind()
    if not isinstance(document, dict) and not _has_json_form(kind.DESCRIPTOR):
        raise mismatch(document, f"an object with the fields of `{kind.DESCRIPTOR.name}`", "")
    try:
        json_format.ParseDict(document, message)  # type: ignore[arg-type]  # well-known types have other forms
    except json_format.ParseError as err:
        raise _located(kind, document, "", err) from err
    missing = message.FindInitializationErrors()
    if missing:
        path = reduce(below, missing[0].split("."), "")
        raise UnfitRecordError(path, "is missing, and the schema requires it")
    return message


def readable(message: Message) -> dict[str, Any]:
    """Return a message as JSON, with the names of its schema, and zeros where nothing was set."""
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _located(
    kind: type[Message], document: object, path: str, fault: json_format.ParseError
) -> UnfitRecordError:
    """Return the error for the innermost field that cannot be parsed on its own."""
    descriptor = kind.DESCRIPTOR
    if not isinstance(document, dict) or _has_json_form(descriptor):
        return mismatch(document, f"a value of type {descriptor.full_name}", path)
    fields = {field.name: field for field in descriptor.fields}
    by_json_name = {field.json_name: field for field in descriptor.fields}
    for name, value in document.items():
        field = fields.get(name) or by_json_name.get(name)
        if field is None:
            return unknown_field(name, fields, descriptor.name, path)
        wrong = _fault_of(kind, name, value)
        if wrong is not None:
            return _inside(field, value, below(path, name), wrong)
    # Each field is right and all together are not: two of a oneof.
    return UnfitRecordError(path, f"is not a `{descriptor.name}`: {fault}")


def _inside(
    field: FieldDescriptor, value: object, path: str, fault: json_format.ParseError
) -> UnfitRecordError:
    inner = field.message_type
    is_map = inner is not None and inner.GetOptions().map_entry
    if inner is None or is_map:
        return mismatch(value, _wanted(field), path)
    kind = GetMessageClass(inner)
    if not field.is_repeated:
        return _located(kind, value, path, fault)
    if not isinstance(value, list):
        return mismatch(value, _wanted(field), path)
    for index, item in enumerate(value):
        wrong = _parse_fault(kind, item)
        if wrong is not None:
            return _located(kind, item, below(path, index), wrong)
    return mismatch(value, _wanted(field), path)


def _fault_of(kind: type[Message], name: str, value: object) -> json_format.ParseError | None:
    return _parse_fault(kind, {name: value})


def _parse_fault(kind: type[Message], document: object) -> json_format.ParseError | None:
    try:
        json_format.ParseDict(document, kind())  # type: ignore[arg-type]  # it checks itself
    except json_format.ParseError as err:
        return err
    return None


def _wanted(field: FieldDescriptor) -> str:
    if field.enum_type is not None:
        symbols = ", ".join(value.name for value in field.enum_type.values[:10])
        name = f"one of `{field.enum_type.name}`: {symbols}"
    elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
        name = f"a value of type {field.message_type.full_name}"
    elif field.message_type is not None:
        return "a map of its type"
    else:
        name = f"a value of type {_TYPES[field.type]}"
    return f"a list, each {name}" if field.is_repeated else name


def _has_json_form(descriptor: Descriptor) -> bool:
    """Whether the message is written in JSON in a way of its own, as timestamps are."""
    return descriptor.file.package == "google.protobuf"
