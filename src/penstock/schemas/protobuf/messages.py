"""Messages of a parsed schema: from JSON, to JSON, and where in their file they are defined.

How the place of a message is written in records is in `indexes.py`.
"""

import json
from collections.abc import Iterator, Sequence

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from penstock.schemas.protobuf.errors import (
    MessageMismatchError,
    UndecodableMessageError,
    UnknownMessageError,
)
from penstock.schemas.protobuf.mismatch import REFUSALS, first_mismatch
from penstock.schemas.protobuf.schema import ProtobufSchema


def message_class(schema: ProtobufSchema, name: str | None = None) -> type[Message]:
    """Return the class of a message of `schema`, by its full name: without one, of the first.

    Raises:
        UnknownMessageError: the schema defines no such message.
    """
    return GetMessageClass(_descriptor(schema, name))


def message_from_json(schema: ProtobufSchema, text: str, name: str | None = None) -> Message:
    """Return the message that JSON `text` describes; field names as in the schema or in camel case.

    Raises:
        MessageMismatchError: the text is not JSON, or a field of it does not fit.
        UnknownMessageError: the schema defines no such message.
    """
    descriptor = _descriptor(schema, name)
    message = GetMessageClass(descriptor)()
    full_name = descriptor.full_name
    value = _loaded(text, full_name)
    if not isinstance(value, dict):
        reason = f"found `{text.strip()[:60]}`, expected an object"
        raise MessageMismatchError(full_name, field="", reason=reason)
    try:
        json_format.ParseDict(value, message, descriptor_pool=schema.pool)
    except REFUSALS as error:
        found = first_mismatch(descriptor, value, schema.pool)
        field, reason = (found.field, found.reason) if found else ("", str(error))
        raise MessageMismatchError(full_name, field=field, reason=reason) from error
    for field in _missing(message):
        raise MessageMismatchError(full_name, field=field, reason="it is required and missing")
    return message


def message_to_json(schema: ProtobufSchema, message: Message) -> str:
    """Return `message` as JSON in one line: field names as in the schema, defaults included.

    Raises:
        UndecodableMessageError: it holds what JSON has no form for, such as a time out of range.
    """
    try:
        value = json_format.MessageToDict(
            message,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
            descriptor_pool=schema.pool,
        )
    except (json_format.Error, TypeError, ValueError) as error:
        raise UndecodableMessageError(
            message.DESCRIPTOR.full_name, reason=f"it has no JSON form: {error}"
        ) from error
    return json.dumps(value, ensure_ascii=False)


def decode_message(schema: ProtobufSchema, data: bytes, name: str | None = None) -> Message:
    """Return the message whose encoding is `data`, without anything before it.

    Raises:
        UndecodableMessageError: it is not the encoding of such a message.
        UnknownMessageError: the schema defines no such message.
    """
    kind = message_class(schema, name)
    full_name = str(kind.DESCRIPTOR.full_name)
    try:
        message = kind.FromString(data)
    except DecodeError as error:
        raise UndecodableMessageError(full_name, reason=str(error)) from error
    for field in _missing(message):
        raise UndecodableMessageError(full_name, reason=f"`{field}` is required and missing")
    return message


def message_indexes(schema: ProtobufSchema, name: str | None = None) -> tuple[int, ...]:
    """Return where a message stands in its file: `(0,)` is the first, `(0, 2)` the third in it.

    Raises:
        UnknownMessageError: the schema defines no such message.
    """
    full_name = _descriptor(schema, name).full_name
    return next(indexes for indexes, known in _numbered(schema) if known == full_name)


def message_name(schema: ProtobufSchema, indexes: Sequence[int]) -> str:
    """Return the full name of the message that stands at `indexes`.

    Raises:
        UnknownMessageError: there is none.
    """
    for known, full_name in _numbered(schema):
        if known == tuple(indexes):
            return full_name
    raise UnknownMessageError(list(indexes), known=_names(schema))


def _descriptor(schema: ProtobufSchema, name: str | None) -> Descriptor:
    names = _names(schema)
    wanted = name if name is not None else next(iter(names), None)
    if wanted not in names:
        raise UnknownMessageError(wanted, known=names)
    return schema.pool.FindMessageTypeByName(wanted)


def _missing(message: Message) -> list[str]:
    """Return the paths of required fields that are not set."""
    return list(message.FindInitializationErrors())  # type: ignore[attr-defined]  # stubs lack it


def _names(schema: ProtobufSchema) -> tuple[str, ...]:
    return tuple(name for _, name in _numbered(schema))


def _numbered(schema: ProtobufSchema) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield all messages, each before those inside it. Entries of maps count, but have no name."""
    scope = f"{schema.file.package}." if schema.file.package else ""
    yield from _numbered_in(schema.file.message_type, scope, ())


def _numbered_in(
    messages: Sequence[DescriptorProto], scope: str, around: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], str]]:
    for index, message in enumerate(messages):
        if not message.options.map_entry:
            yield (*around, index), f"{scope}{message.name}"
            inside = f"{scope}{message.name}."
            yield from _numbered_in(message.nested_type, inside, (*around, index))


def _loaded(text: str, message: str) -> object:
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at {error.lineno}:{error.colno}"
        raise MessageMismatchError(message, field="", reason=reason) from error
    except RecursionError as error:
        reason = "the JSON is nested too deep"
        raise MessageMismatchError(message, field="", reason=reason) from error
    return value
