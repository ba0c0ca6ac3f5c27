"""Schemas in memory: what decoders ask, without a registry."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.names import Subject
from penstock.schemas import RegisteredSchema, Schema, SchemaType, parse

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
GUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


class DownError(PenstockError):
    """Nobody answers."""

    code = "PEN-X"
    retryable = True

    def __init__(self) -> None:
        super().__init__("down", hint="wait")


@dataclass(slots=True)
class Shelf:
    """Schemas in memory; the ids that were asked for are kept."""

    schemas: dict[int, RegisteredSchema]
    is_down: bool = False
    asked: list[int] = field(default_factory=list)

    def find_by_id(self, schema_id: int, *, serialized: bool = False) -> RegisteredSchema | None:
        assert not serialized
        if self.is_down:
            raise DownError
        self.asked.append(schema_id)
        return self.schemas.get(schema_id)

    def id_of_guid(self, guid: str) -> int | None:
        return 1 if guid == GUID else None

    def version(
        self, subject: Subject, version: int, *, deleted: bool = False, serialized: bool = False
    ) -> RegisteredSchema:
        assert (subject, version, deleted, serialized) == ("orders-value", 1, False, False)
        return self.schemas[1]

    def parsed(self, schema: RegisteredSchema) -> Schema:
        return parse(schema.type, schema.text)


def a_shelf() -> Shelf:
    return Shelf(
        {
            1: RegisteredSchema(
                id=1, type=SchemaType.AVRO, text=ORDER, subject=Subject("orders-value"), version=1
            ),
            2: RegisteredSchema(id=2, type=SchemaType.JSON, text='{"type":"object"}'),
        }
    )
