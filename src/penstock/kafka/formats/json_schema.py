"""JSON with a schema id before it, checked against its JSON Schema when it is written."""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer

from penstock.kafka.formats.errors import UnfitRecordError
from penstock.kafka.formats.fields import below, mismatch, unknown_field
from penstock.kafka.formats.lookup import client_for
from penstock.kafka.formats.place import READING, WRITING, decoding
from penstock.schemas import SchemaType
from penstock.schemas.schema import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.kafka.formats.place import Place
    from penstock.kafka.records import Header
    from penstock.schemas import RegisteredSchema, Schema

# Theirs would fetch a remote `$ref`, and tells what is wrong without telling where.
_UNCHECKED = {"validate": False}


class JsonSchemaEncoder:
    """Writes JSON values that one schema allows."""

    def __init__(self, source: SchemaSource, place: Place, writer: RegisteredSchema) -> None:
        self._place = place
        self._validator = _validator(source.parsed(writer))
        client = client_for(source, SchemaType.JSON, writer)
        conf = {**WRITING, **_UNCHECKED}
        self._serializer = JSONSerializer(None, client, conf=conf, json_encode=_compact)

    def encode(self, document: object) -> bytes | None:
        """Return the bytes for `document`; raises `UnfitRecordError` with the field."""
        from jsonschema.exceptions import best_match

        wrong = best_match(self._validator.iter_errors(cast("Any", document)))
        if wrong is not None:
            raise _unfit(wrong)
        data: bytes | None = self._serializer(document, self._place.context())
        return data


class JsonSchemaDecoder:
    """Reads the JSON behind a schema id; whether it fits its schema is the writer's matter."""

    def __init__(self, source: SchemaSource, place: Place) -> None:
        self._place = place
        client = client_for(source, SchemaType.JSON)
        self._deserializer = JSONDeserializer(
            None, schema_registry_client=client, conf={**READING, **_UNCHECKED}
        )

    def decode(self, data: bytes, headers: Sequence[Header]) -> object:
        """Return the value; raises `UndecodableRecordError`."""
        with decoding(self._place, data, headers):
            return self._deserializer(data, self._place.context(headers))


def _compact(document: object) -> str:
    """Return JSON without spaces; theirs has no integers beyond 64 bits."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _validator(schema: Schema) -> Validator:
    from jsonschema.validators import Draft7Validator, validator_for
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    registry: Registry[Any] = Registry()
    for reference in in_order(schema.references):
        resource = Resource.from_contents(json.loads(reference.text), default_specification=DRAFT7)
        registry = registry.with_resource(reference.name, resource)
        registry = registry.with_resources([(resource.id() or reference.name, resource)])
    document = json.loads(schema.text)
    validator: Validator = validator_for(document, default=Draft7Validator)(
        document, registry=registry
    )
    return validator


def _unfit(wrong: ValidationError) -> UnfitRecordError:
    """Return the error with the field that is wrong, also where that is one which is not there."""
    path = reduce(below, wrong.absolute_path, "")
    found, wanted = cast("Any", wrong.instance), cast("Any", wrong.validator_value)
    match wrong.validator:
        case "required":
            missing = next(name for name in wanted if name not in found)
            return UnfitRecordError(below(path, missing), "is missing, and the schema requires it")
        case "additionalProperties" if wanted is False:
            return _unknown(found, cast("dict[str, Any]", wrong.schema), path)
        case "type":
            return mismatch(found, f"of type {_types(wanted)}", path)
    return UnfitRecordError(path, f"is not what the schema asks for: {wrong.message}")


def _unknown(found: dict[str, object], schema: dict[str, Any], path: str) -> UnfitRecordError:
    """Return the error for the first property that a closed schema does not have."""
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    name = next(
        name
        for name in found
        if name not in known and not any(re.search(pattern, name) for pattern in patterns)
    )
    return unknown_field(name, known, schema.get("title", "the schema"), path)


def _types(wanted: str | Sequence[str]) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(wanted)
