"""A Protobuf schema: the descriptors of a file and of all it imports."""

import base64
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.protobuf.compatibility import Files, reasons_against_reading
from penstock.schemas.protobuf.compiler import Source, is_bundled, shared_compiler
from penstock.schemas.protobuf.map_entries import has_entries, with_entries
from penstock.schemas.protobuf.options import OptionReader
from penstock.schemas.protobuf.printing import Printer
from penstock.schemas.protobuf.sources import reference_sources, root_source
from penstock.schemas.schema import (
    Incompatibility,
    Resolved,
    Schema,
    SchemaType,
    different_type,
    in_order,
)


class ProtobufSchema(Schema):
    """A .proto file that protoc has accepted."""

    type: ClassVar[SchemaType] = SchemaType.PROTOBUF

    def __init__(
        self, text: str, references: Sequence[Resolved], compiled: Sequence[FileDescriptorProto]
    ) -> None:
        """Take what protoc made of the text.

        Args:
            text: The schema as it was given.
            references: What it may import.
            compiled: All files it imports, each before those that import it, and itself last.
        """
        super().__init__(text, references)
        self.imported = tuple(compiled[:-1])
        self.file = compiled[-1]

    @cached_property
    def pool(self) -> DescriptorPool:
        """The descriptors that messages are made of; no two schemas share theirs.

        Raises:
            InvalidSchemaError: the runtime does not accept what protoc has accepted.
        """
        pool = DescriptorPool()
        try:
            for file in (*self.imported, self.file):
                pool.AddSerializedFile(file.SerializeToString())
        except TypeError as error:
            raise InvalidSchemaError(reason=f"the schema cannot be loaded: {error}") from error
        return pool

    def canonical(self) -> str:
        """Return the .proto text of the descriptor: full names, no comments, order kept."""
        return Printer(self.file, self._options, normal=False).text()

    def normalized(self) -> str:
        """Return the .proto text with everything sorted whose order means nothing."""
        return Printer(self.file, self._options, normal=True).text()

    def import_sources(self) -> tuple[Source, ...]:
        """Return what the schema imports, for protoc to compile another one with."""
        given = (file for file in self.imported if not is_bundled(file.name))
        return tuple(Source(name=file.name, content=file) for file in given)

    def serialized(self) -> str:
        """Return the descriptor in base64: what `format=serialized` asks a registry for."""
        return base64.b64encode(self.file.SerializeToString(deterministic=True)).decode()

    def formatted(self, form: str) -> str:
        """Return the text in the form that is asked for: `serialized` or, else, canonical."""
        return self.serialized() if form == "serialized" else self.canonical()

    @property
    def name(self) -> str | None:
        """The full name of the first message, or of the first enum if there is none."""
        names = [one.name for one in self.file.message_type]
        names += [one.name for one in self.file.enum_type]
        if not names:
            return None
        return f"{self.file.package}.{names[0]}" if self.file.package else names[0]

    def can_read(self, writer: Schema) -> list[Incompatibility]:
        """Return why messages written with `writer` cannot be read with this schema."""
        if not isinstance(writer, ProtobufSchema):
            return [different_type(self, writer)]
        return reasons_against_reading(reader=self.files, writer=writer.files)

    @cached_property
    def files(self) -> Files:
        """The messages of the schema and of its imports, for comparison."""
        return Files(root=self.file, imported=self.imported)

    @cached_property
    def _options(self) -> OptionReader:
        return OptionReader(lambda: self.pool)


def parse(text: str, references: Sequence[Resolved] = ()) -> ProtobufSchema:
    """Return the schema of a .proto file, or of a descriptor serialized in base64.

    Args:
        text: proto2 or proto3.
        references: The files that imports can name, beside those that are always there.

    Raises:
        InvalidSchemaError: protoc refuses it, or it is written in an edition.
        CompilerUnavailableError: protoc cannot be started.
    """
    imports = reference_sources(references)
    root = root_source(text, imports)
    compiled = _compiled(root, imports)
    marked = {one.name for one in in_order(references) if has_entries(one.text)}
    marked |= {root.name} if has_entries(text) else set()
    if isinstance(root.content, str) and not marked:
        return ProtobufSchema(text, references, compiled)
    # A descriptor can hold what no text can. What is stored is text, so that has to compile.
    restored = [with_entries(file) if file.name in marked else file for file in compiled]
    described = ProtobufSchema(text, references, restored)
    printed = Source(name=root.name, content=described.canonical())
    return ProtobufSchema(text, references, _compiled(printed, described.import_sources()))


def _compiled(root: Source, imports: Sequence[Source]) -> tuple[FileDescriptorProto, ...]:
    compiled = shared_compiler().compile(root, imports)
    for file in compiled:
        if file.syntax == "editions" and not is_bundled(file.name):
            where = "the schema" if file is compiled[-1] else f"the reference `{file.name}`"
            reason = f'{where} is written in an edition; `syntax` has to be "proto2" or "proto3"'
            raise InvalidSchemaError(reason=reason)
    return compiled
