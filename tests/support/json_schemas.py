"""JSON Schemas for tests, from Python values."""

import json
from typing import Any

from penstock.schemas import Resolved
from penstock.schemas.json_schema import JsonSchema, parse

Json = Any
"""What `json.loads` returns, and tests index without asking."""

DRAFTS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def json_schema(schema: Json, *references: Resolved, draft: str | None = None) -> JsonSchema:
    """Return the schema, in draft-07 if it does not say otherwise."""
    if draft is not None:
        schema = {"$schema": DRAFTS[draft]} | schema
    return parse(json.dumps(schema), references)


def reference(name: str, schema: Json) -> Resolved:
    """Return a reference to `schema`."""
    return Resolved(name=name, text=json.dumps(schema))


def breaks(old: Json, new: Json, *, draft: str | None = None) -> list[str]:
    """Return kind and path of all that keeps `new` from accepting the documents of `old`."""
    found = json_schema(new, draft=draft).can_read(json_schema(old, draft=draft))
    return [f"{one.kind} {one.path}" for one in found]
