"""From what a client sends to what protoc gets: texts, serialized descriptors and their names."""

import base64
import binascii
import re
from collections.abc import Sequence

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.protobuf.compiler import Source, is_bundled
from penstock.schemas.protobuf.map_entries import with_marks
from penstock.schemas.schema import Resolved, in_order

ROOT_NAME = "default"
"""The name of a schema among its imports, and in its serialized form: it is Confluent's."""

MAX_NAME_CHARS = 200

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\:,=]")


def root_source(text: str, references: Sequence[Source]) -> Source:
    """Return the schema itself, under a name that none of its references has.

    Raises:
        InvalidSchemaError: the text is empty.
    """
    if not text.strip():
        raise InvalidSchemaError(reason="the schema is empty")
    name = ROOT_NAME
    while any(name in reference.name.split("/") for reference in references):
        name += "_"
    return Source(name=name, content=_content(text))


def reference_sources(references: Sequence[Resolved]) -> tuple[Source, ...]:
    """Return what `references` need, dependencies first; bundled files stay as they are bundled.

    Raises:
        InvalidSchemaError: a name could not be the path of an import.
    """
    sources = []
    for reference in in_order(references):
        _check_name(reference.name)
        if not is_bundled(reference.name):
            sources.append(Source(name=reference.name, content=_content(reference.text)))
    return tuple(sources)


def _content(text: str) -> str | FileDescriptorProto:
    # No file of .proto text that says anything goes without `;`, and base64 has none.
    if not _BASE64.fullmatch(text):
        return with_marks(text)
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=False))
    except (binascii.Error, DecodeError):
        return text


def _check_name(name: str) -> None:
    parts = name.split("/")
    if (
        len(name) > MAX_NAME_CHARS
        or _FORBIDDEN.search(name)
        or any(part in ("", ".", "..") for part in parts)
    ):
        reason = f"the reference `{name[:MAX_NAME_CHARS]}` is not the path of an import"
        raise InvalidSchemaError(reason=reason)
