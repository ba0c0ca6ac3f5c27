"""Answers: JSON in the shapes of Confluent's registry, in the content type a client accepts."""

from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from penstock.registry.entries import Config, SchemaVersion
from penstock.registry.errors import RegistryError
from penstock.registry.guids import guid_of
from penstock.registry.records import config_fields, json_bytes, loaded

V1_JSON = "application/vnd.schemaregistry.v1+json"
_OFFERED = (V1_JSON, "application/vnd.schemaregistry+json", "application/json")


@dataclass(frozen=True, slots=True)
class _Accepted:
    """One media type of an `Accept` header."""

    name: str
    quality: float

    @classmethod
    def parsed(cls, text: str) -> "_Accepted":
        name, *parameters = (part.strip().lower() for part in text.split(";"))
        quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        try:
            return cls(name, float(quality))
        except ValueError:
            return cls(name, 1.0)

    def offered(self) -> str | None:
        if self.name in ("*/*", "application/*", ""):
            return V1_JSON
        return self.name if self.name in _OFFERED else None


def media_type_for(accept: str) -> str | None:
    """Return the content type to answer in, or None when a client accepts none of ours."""
    accepted = [_Accepted.parsed(part) for part in accept.split(",")]
    for one in sorted(accepted, key=lambda one: -one.quality):
        offered = one.offered()
        if offered and one.quality > 0:
            return offered
    return None


def answer(request: Request, value: object) -> Response:
    """Answer with a JSON value."""
    return text_answer(request, json_bytes(value))


def text_answer(request: Request, body: bytes) -> Response:
    """Answer with what is JSON already: a schema as it was given.

    Raises:
        HTTPException: the client accepts none of our content types.
    """
    media_type = media_type_for(request.headers.get("accept", "*/*"))
    if media_type is None:
        raise HTTPException(406)
    return Response(body, media_type=media_type)


def error_answer(error: RegistryError, accept: str = "*/*") -> Response:
    """Answer with an error."""
    body = json_bytes({"error_code": error.code, "message": error.message})
    return Response(body, error.status, media_type=media_type_for(accept) or V1_JSON)


def full_schema(version: SchemaVersion, text: str | None = None) -> dict[str, object]:
    """Return a version of a subject, with `text` in place of its own if there is one."""
    numbers = {"subject": version.subject, "id": version.id, "version": version.version}
    return {**numbers, **schema_of_id(version, text)}


def registered_schema(version: SchemaVersion) -> dict[str, object]:
    """Return what a registration is answered with: the numbers, and not the schema.

    confluent-kafka keeps a schema that is answered in place of the one it sent. Of Protobuf it
    sends a descriptor and needs one to read records, so the text would keep it from reading.
    """
    return {"id": version.id, "version": version.version, "guid": guid_of(version.content)}


def schema_of_id(version: SchemaVersion, text: str | None = None) -> dict[str, object]:
    """Return a schema without the subject that it was found under."""
    content = version.content
    return _given(
        {
            "guid": guid_of(content),
            "schemaType": content.type,
            "references": [
                {"name": one.name, "subject": one.subject, "version": one.version}
                for one in content.references
            ]
            or None,
            "metadata": loaded(content.metadata),
            "ruleSet": loaded(content.rule_set),
            "schema": content.text if text is None else text,
            "deleted": version.deleted or None,
        }
    )


def config_answer(config: Config) -> dict[str, object]:
    """Return a config as it is read."""
    return _given(config_fields(config))


def changed_config(config: Config) -> dict[str, object]:
    """Return a config as a change of it is answered: the level under its other name."""
    fields = config_answer(config)
    level = fields.pop("compatibilityLevel", None)
    return _given({"compatibility": level, **fields})


def _given(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
