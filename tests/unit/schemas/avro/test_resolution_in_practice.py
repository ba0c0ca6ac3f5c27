"""For random pairs of schemas the verdict is what writing with one and reading with another shows.

The data of a writer covers its schema: each branch of a union, each symbol, records within records
three times. If the reader is said to fit, it reads all of that data, and otherwise fails on some.

Where fastavro departs from the specification, the schemas here keep away from it, and only there:

- Named types match by name alone, be one an enum and the other a record: names tell the kind here.
- A branch of the reader's union is chosen by name, and a later one of the same name or alias is
  never tried: no two types of a schema share a name without namespace or an alias.
- A field of the data goes to one field of the reader's, although several have it as an alias: no
  two fields of a record share a name or an alias.
- An empty union as reader counts as no reader at all: there are none. Nobody can write data for an
  empty union or an enum without symbols either.
"""

import io
from collections.abc import Iterator
from typing import cast

import fastavro
from fastavro.read import SchemaResolutionError
from hypothesis import assume, given, settings

from penstock.schemas import InvalidSchemaError
from support.avro import Json, avro
from support.avro_pairs import branch_word, schema_pairs

SAMPLES: dict[str, Json] = {
    "null": None, "boolean": True, "int": 7, "long": 7, "float": 0.5, "double": 0.5,
    "bytes": b"ascii", "string": "ascii",
}  # fmt: skip


# On a busy machine the schemas take longer to make than Hypothesis likes.
@settings(max_examples=100)
@given(pair=schema_pairs())
def test_the_verdict_is_what_writing_and_reading_shows(pair: tuple[Json, Json]) -> None:
    writer, reader = pair
    data = covering_data(writer)
    assume(data)
    try:
        verdict = avro(reader).can_read(avro(writer))
    except InvalidSchemaError:
        assume(condition=False)
    assert bool(verdict) == any(not reads(reader, writer, value) for value in data)


def reads(reader: Json, writer: Json, value: Json) -> bool:
    file = io.BytesIO()
    written = cast("fastavro.types.Schema", writer)
    fastavro.schemaless_writer(file, written, value)
    file.seek(0)
    try:
        fastavro.schemaless_reader(file, written, cast("fastavro.types.Schema", reader))
    except SchemaResolutionError:
        return False
    return True


def covering_data(schema: Json) -> list[Json]:
    """Return values that together have every branch and symbol; none if there is no such value."""
    definitions = dict(defined(schema))
    covering = Covering(definitions)
    possible = [covering.values(definition, {}) for definition in definitions.values()]
    return covering.values(schema, {}) if all(possible) else []


def defined(schema: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(schema, list):
        for branch in schema:
            yield from defined(branch)
    elif isinstance(schema, dict):
        if "name" in schema:
            yield schema["name"], schema
        inner = [schema[key] for key in ("items", "values") if key in schema]
        for part in [*inner, *(field["type"] for field in schema.get("fields", []))]:
            yield from defined(part)


class Covering:
    """Values for schemas, in which a record contains itself at most twice."""

    def __init__(self, definitions: dict[str, Json]) -> None:
        self._definitions = definitions

    def values(self, schema: Json, within: dict[str, int]) -> list[Json]:
        if isinstance(schema, list):
            return [
                (branch_word(branch), value)
                for branch in schema
                for value in self.values(branch, within)
            ]
        if isinstance(schema, str):
            known = self._definitions
            return self.values(known[schema], within) if schema in known else [SAMPLES[schema]]
        assert isinstance(schema, dict)
        match schema["type"]:
            case "enum":
                return list(schema["symbols"])
            case "fixed":
                return [b"x" * schema["size"]]
            case "array":
                return [[value] for value in self.values(schema["items"], within)] or [[]]
            case "map":
                return [{"k": value} for value in self.values(schema["values"], within)] or [{}]
            case _:
                return self._records(schema, within)

    def _records(
        self, schema: dict[str, list[dict[str, Json]]], within: dict[str, int]
    ) -> list[Json]:
        name = str(schema["name"])
        depth = within.get(name, 0)
        if depth > 2:
            return []
        inside = {**within, name: depth + 1}
        parts = {
            str(field["name"]): self.values(field["type"], inside) for field in schema["fields"]
        }
        if not all(parts.values()):
            return []
        count = max(map(len, parts.values()), default=1)
        return [
            {field: values[number % len(values)] for field, values in parts.items()}
            for number in range(count)
        ]
