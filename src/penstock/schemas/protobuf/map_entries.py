"""Maps as Confluent's Java clients write them: a repeated field, and its entry as a message.

They print descriptors, in which a map is `repeated .A.TagsEntry tags = 1;` beside a message with
`option map_entry = true;`. protoc refuses this option in a text. So it gets another one in its
place that means nothing, and what has that one afterwards is made an entry again.
"""

import re
from collections import deque

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from penstock.schemas.errors import InvalidSchemaError

_WRITTEN_OUT = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
_MARK = "option message_set_wire_format = false;"


def has_entries(text: str) -> bool:
    """Return whether entries of maps are written out in `text`."""
    return _WRITTEN_OUT.search(text) is not None


def with_marks(text: str) -> str:
    """Return a text that protoc accepts, in which entries are marked."""
    return _WRITTEN_OUT.sub(_MARK, text)


def with_entries(file: FileDescriptorProto) -> FileDescriptorProto:
    """Return `file` with the entries that are marked in it.

    Raises:
        InvalidSchemaError: what is marked could not be the entry of a map.
    """
    restored = FileDescriptorProto()
    restored.CopyFrom(file)
    waiting: deque[DescriptorProto] = deque(restored.message_type)
    while waiting:
        message = waiting.popleft()
        if message.options.HasField("message_set_wire_format"):
            _check_fields(message)
            message.options.ClearField("message_set_wire_format")
            message.options.map_entry = True
        waiting.extend(message.nested_type)
    return restored


def _check_fields(message: DescriptorProto) -> None:
    if [(field.name, field.number) for field in message.field] != [("key", 1), ("value", 2)]:
        reason = f"the map entry `{message.name}` has other fields than `key = 1` and `value = 2`"
        raise InvalidSchemaError(reason=reason)
