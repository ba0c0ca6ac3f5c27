"""Messages as they travel to executors: compiled on the driver, made into classes where they run.

protoc runs on the driver alone. Every schema has a pool of its own: two versions define the same
names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pool import DescriptorPool

from penstock.schemas import SchemaType, parse
from penstock.schemas.protobuf import ProtobufSchema
from penstock.schemas.protobuf.messages import message_class

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from penstock.pipeline import WriterSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageType:
    """A message that any process can make, compiled."""

    name: str
    """Its full name."""

    files: tuple[bytes, ...]
    """Serialized descriptors, each file before those that import it."""

    def descriptor(self) -> Descriptor:
        """Return the descriptor, the same one in all of this process."""
        return pool(self.files).FindMessageTypeByName(self.name)


@lru_cache(maxsize=256)
def pool(files: tuple[bytes, ...]) -> DescriptorPool:
    """Return the pool of these files, the same one in all of this process."""
    found = DescriptorPool()
    for file in files:
        found.AddSerializedFile(file)
    return found


@lru_cache(maxsize=256)
def parsed(schema: WriterSchema) -> ProtobufSchema:
    """Return a schema as protoc reads it; flows ask for the same one several times.

    Raises:
        InvalidSchemaError: protoc refuses it.
    """
    found = parse(SchemaType.PROTOBUF, schema.text, schema.references)
    assert isinstance(found, ProtobufSchema)  # noqa: S101 - it was asked for
    return found


def message_type(schema: ProtobufSchema, name: str | None) -> MessageType:
    """Return a message of `schema`, by its full name: without one, the first.

    Raises:
        UnknownMessageError: the schema defines no such message.
    """
    full_name = str(message_class(schema, name).DESCRIPTOR.full_name)
    files = tuple(file.SerializeToString() for file in (*schema.imported, schema.file))
    return MessageType(name=full_name, files=files)
