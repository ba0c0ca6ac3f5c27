"""Options of files, messages, fields and so on: their names and values as a .proto file has them.

Custom options are extensions. The descriptors of a schema hold them as bytes until somebody who
knows the extension looks at them: the pool of the schema's own files.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from penstock.schemas.errors import InvalidSchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

_ESCAPES = {
    **{code: f"\\{code:03o}" for code in (*range(32), 127)},
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
}

_IMPLIED = frozenset({"map_entry"})
"""What protoc sets on its own, and nobody may write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option as it is written: `deprecated = true`, `(.my.rule) = { min: 1 }`."""

    name: str
    value: str

    def __str__(self) -> str:
        """Return what stands behind `option` or between brackets."""
        return f"{self.name} = {self.value}"


class OptionReader:
    """Reads options with the extensions that the files of a schema define."""

    def __init__(self, pool: "Callable[[], DescriptorPool]") -> None:
        """Take the pool as a function: most schemas have no custom options and need none."""
        self._pool = pool

    def options(self, message: Message) -> list[Option]:
        """Return what is set in `message`, such as a `FieldOptions`, in the order of numbers."""
        if not message.ByteSize():
            return []
        return list(self._written(self._with_extensions(message)))

    def _with_extensions(self, message: Message) -> Message:
        if not len(UnknownFieldSet(message)):
            return message
        descriptor = self._pool().FindMessageTypeByName(message.DESCRIPTOR.full_name)
        try:
            return GetMessageClass(descriptor).FromString(message.SerializeToString())
        except DecodeError as error:
            reason = "the value of an option is nested too deep"
            raise InvalidSchemaError(reason=reason) from error

    @staticmethod
    def _written(message: Message) -> Iterator[Option]:
        for field, value in message.ListFields():
            if field.name in _IMPLIED:
                continue
            name = f"(.{field.full_name})" if field.is_extension else field.name
            for one in value if field.is_repeated else [value]:
                yield Option(name=name, value=_value(field, one))


def quoted(text: str) -> str:
    """Return `text` as a string literal."""
    return f'"{text.translate(_ESCAPES)}"'


def _value(field: FieldDescriptor, value: object) -> str:
    match value:
        case Message():
            inside = text_format.MessageToString(value, as_one_line=True, as_utf8=True)
            return f"{{ {inside} }}" if inside else "{}"
        case bool():
            return str(value).lower()
        case str():
            return quoted(value)
        case bytes():
            return '"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
        case float():
            return _number(value)
        case int() if field.enum_type is not None:
            return str(field.enum_type.values_by_number[value].name)
        case _:
            return str(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)
