"""The description of all addresses in OpenAPI's words, made from their declarations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from penstock.console.frame.actions import ASKED, Question
from penstock.console.frame.forms import Input
from penstock.console.frame.pages import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic.json_schema import JsonSchemaMode

    from penstock.console.frame.actions import AnyAction
    from penstock.console.frame.endpoints import Endpoint
    from penstock.console.frame.pages import AnyPage

_REF = "#/components/schemas/{model}"
_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_FAULT = {
    "type": "object",
    "required": ["code", "message", "hint"],
    "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
}
_ASKED_MEANS = "1: tell what would happen, and change nothing."


def description(
    pages: Sequence[AnyPage],
    actions: Sequence[AnyAction],
    endpoints: Sequence[Endpoint],
    *,
    version: str,
) -> dict[str, Any]:
    """Return the description; JSON is given to whoever accepts `application/json`."""
    schemas = _Schemas(
        shown=(*(page.model for page in pages), Input, Question),
        sent=(
            *(action.form for action in actions),
            *(endpoint.body for endpoint in endpoints if endpoint.body is not None),
        ),
    )
    paths: dict[str, dict[str, Any]] = {}
    for page in pages:
        told = _operation(page.name, page.summary, page.role.word, page.path)
        told["parameters"] += _queries(page.parameters)
        told["responses"]["200"] = _content(schemas.shown[page.model], "What the page shows.")
        paths.setdefault(_path(page.path), {})["get"] = told
    for action in actions:
        place = paths.setdefault(_path(action.path), {})
        place["get"], place["post"] = _asking(action, schemas), _doing(action, schemas)
    for endpoint in endpoints:
        told = _operation(endpoint.name, endpoint.summary, endpoint.role.word, endpoint.path)
        told["parameters"] += _queries(endpoint.parameters)
        if endpoint.body is not None:
            told["requestBody"] = _body(schemas.sent[endpoint.body])
        told["responses"]["200"] = {"description": endpoint.summary}
        paths.setdefault(_path(endpoint.path), {})[endpoint.method.lower()] = told
    return {
        "openapi": "3.1.0",
        "info": {"title": "Penstock console", "version": version},
        "paths": paths,
        "components": {
            "schemas": {"Fault": _FAULT, **schemas.components},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


class _Schemas:
    """The schemas of all models: each by its name, or by its module where names are the same."""

    def __init__(self, *, shown: Sequence[type], sent: Sequence[type]) -> None:
        inputs: list[tuple[type, JsonSchemaMode, TypeAdapter[Any]]] = [
            *((model, "serialization", TypeAdapter(model)) for model in dict.fromkeys(shown)),
            *((model, "validation", TypeAdapter(model)) for model in dict.fromkeys(sent)),
        ]
        found, told = TypeAdapter.json_schemas(inputs, ref_template=_REF)
        self.components: dict[str, Any] = told["$defs"]
        self.shown = {model: found[model, "serialization"] for model in shown}
        self.sent = {model: found[model, "validation"] for model in sent}

    def component(self, reference: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a `$ref` stands for."""
        found: dict[str, Any] = self.components[reference["$ref"].rpartition("/")[2]]
        return found


def _asking(action: AnyAction, schemas: _Schemas) -> dict[str, Any]:
    told = _operation(f"ask_{action.name}", f"Ask: {action.summary}", action.role.word, action.path)
    form = schemas.component(schemas.sent[action.form])
    fields: dict[str, Any] = form.get("properties", {})
    told["parameters"] += [
        {
            "name": name,
            "in": "query",
            "description": schema.get("description", schema.get("title", name)),
            "schema": schema,
        }
        for name, schema in fields.items()
    ]
    if fields:
        told["parameters"] += _queries([Parameter(name=ASKED, meaning=_ASKED_MEANS)])
    told["responses"]["200"] = _content(
        _answer(schemas), "The inputs, and what would happen if that was asked. Nothing changes."
    )
    return told


def _doing(action: AnyAction, schemas: _Schemas) -> dict[str, Any]:
    told = _operation(action.name, action.summary, action.role.word, action.path)
    form = schemas.component(schemas.sent[action.form])
    fields = {**form.get("properties", {}), ASKED: {"type": "string", "description": _ASKED_MEANS}}
    told["requestBody"] = _body({**form, "properties": fields})
    done = {
        "type": "object",
        "required": ["done"],
        "properties": {"done": {"type": "string"}},
    }
    told["responses"]["200"] = _content(
        {"oneOf": [done, _answer(schemas)]},
        f"What was done or begun; with `{ASKED}`, what would be.",
    )
    return told


def _answer(schemas: _Schemas) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["inputs"],
        "properties": {
            "inputs": {"type": "array", "items": schemas.shown[Input]},
            "question": schemas.shown[Question],
        },
    }


def _body(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _queries(parameters: Iterable[Parameter]) -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "in": "query",
            "description": parameter.meaning,
            "schema": {"type": _KINDS[parameter.kind]},
        }
        for parameter in parameters
    ]


def _operation(name: str, summary: str, role: str, path: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "description": f"Needs the role {role}.",
        "parameters": [
            {"name": variable, "in": "path", "required": True, "schema": {"type": "string"}}
            for variable in _variables(path)
        ],
        "responses": {
            "default": _content({"$ref": _REF.format(model="Fault")}, "Why it cannot be answered.")
        },
    }


def _content(schema: dict[str, Any], meaning: str) -> dict[str, Any]:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _path(path: str) -> str:
    return re.sub(r"{(\w+):\w+}", r"{\1}", path)


def _variables(path: str) -> Iterable[str]:
    return re.findall(r"{(\w+)(?::\w+)?}", path)
