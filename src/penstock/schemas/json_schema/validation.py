"""Whether a document fits a schema, and if not, where and why: asked before it is produced."""

import copy
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import islice
from typing import Any, cast

from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.jsonschema import SchemaRegistry, SchemaResource, specification_with

from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_schema.assertions import dialect, strict
from penstock.schemas.json_schema.documents import Document, Documents, Node, pointer
from penstock.schemas.json_schema.drafts import Draft, Keywords
from penstock.schemas.json_schema.patterns import read_pattern
from penstock.schemas.json_schema.schema import JsonSchema, parse

MAX_PROBLEMS = 5
_MAX_TOLD_CHARS = 300
_UNSAFE_PATTERNS = (
    "documents cannot be checked: beside `unevaluatedProperties`, a pattern of `patternProperties` "
    "must have no more than one repetition, and nothing but what ECMA 262 and Python have in common"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One place where a document does not fit."""

    path: str
    """A JSON pointer into the document, to the field that is wrong, also when it is missing:
    `/customer/email`. Empty for the document as a whole."""

    message: str


def problems(schema: JsonSchema, document: object, *, limit: int = MAX_PROBLEMS) -> list[Problem]:
    """Return the first reasons why `document` does not fit `schema`: empty if it does.

    Nothing is fetched, and no pattern takes longer than its budget. A pattern that cannot be
    evaluated (see `patterns.py`) is a problem of each value it is for.

    Args:
        schema: What the document has to fit.
        document: What `json.loads` returns.
        limit: At most so many reasons.
    """
    if _has_unsafe_patterns(schema):
        return [Problem(path="", message=_UNSAFE_PATTERNS)]
    try:
        validator = _validator(schema)
    except InvalidSchemaError as error:
        return [Problem(path="", message=f"the schema is not valid: {error.message}")]
    try:
        found = list(islice(validator.iter_errors(cast("Any", document)), limit))
    except RecursionError:
        return [Problem(path="", message="the document is nested too deeply to be checked")]
    return [_told(error) for error in found]


@lru_cache(maxsize=256)
def _has_unsafe_patterns(schema: JsonSchema) -> bool:
    """Whether the library would match a pattern itself that it may take forever for.

    It does so for `unevaluatedProperties`, and offers no way to do it otherwise.
    """
    schemas = [node.schema for node in schema.documents.nodes if isinstance(node.schema, dict)]
    if not any("unevaluatedProperties" in one for one in schemas):
        return False
    patterns = {name for one in schemas for name in cast("Any", one.get("patternProperties", ()))}
    return not all(read_pattern(pattern).harmless for pattern in patterns)


@lru_cache(maxsize=256)
def _validator(schema: JsonSchema) -> Validator:
    """Return the schema's validator: many documents are checked against the same schema.

    Raises:
        InvalidSchemaError: the schema was stored with faults; documents would be checked halfway.
    """
    if schema.documents.stored:
        schema = parse(schema.text, schema.references)
    documents = schema.documents
    registry: SchemaRegistry = Registry().with_resources(
        (address, _resource(documents, node))
        for address, node in documents.resources.items()
        if not node.way
    )
    contents = _resource(documents, documents.root).contents
    return strict(documents.root.draft)(contents, registry=registry.crawl())


def _resource(documents: Documents, root: Node) -> SchemaResource:
    """Return a document for the library, which reads it as our validators do."""
    contents = root.schema
    if isinstance(contents, dict):
        contents = _readable(documents, root.document, contents)
        contents = contents | {"$schema": dialect(root.draft)}
    return specification_with(root.draft.address).create_resource(contents)


def _readable(documents: Documents, document: Document, contents: Keywords) -> Keywords:
    """Return the contents without what the library cannot read; they mean the same."""
    unreadable = [
        node for node in documents.nodes if node.document is document and _is_unreadable(node)
    ]
    holder: Any = {"root": copy.deepcopy(contents) if unreadable else contents}
    for node in unreadable:
        *before, last = ("root", *node.way)
        around: Any = reduce(_step, before, holder)
        key = int(last) if isinstance(around, list) else last
        around[key] = _mended(around[key])
    return cast("Keywords", holder["root"])


def _step(around: object, step: str) -> object:
    return cast("Any", around)[int(step) if isinstance(around, list) else step]


def _is_unreadable(node: Node) -> bool:
    """Whether the library fails on a schema.

    It does on `items` that are booleans in 2019-09, on `$schema` of another draft inside of a
    document, and on lists beside schemas in `dependencies`.
    """
    if isinstance(node.schema, bool):
        return node.way[-1:] == ("items",) and node.draft is Draft.DRAFT_2019_09
    dependencies = node.schema.get("dependencies")
    mixed = isinstance(dependencies, dict) and len({*map(type, dependencies.values())}) > 1
    return mixed or (bool(node.way) and "$schema" in node.schema)


def _mended(schema: bool | Keywords) -> Keywords:  # noqa: FBT001
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    mended = {name: value for name, value in schema.items() if name != "$schema"}
    if isinstance(dependencies := schema.get("dependencies"), dict):
        mended["dependencies"] = {
            name: {"required": entry} if isinstance(entry, list) else entry
            for name, entry in dependencies.items()
        }
    return mended


def _told(error: ValidationError) -> Problem:
    # Of the many errors of an `anyOf`, the one that is closest to a fit says the most.
    closest = best_match([error]) or error
    message = closest.message
    if len(message) > _MAX_TOLD_CHARS:
        message = f"{message[:_MAX_TOLD_CHARS]}…"
    path = pointer([str(part) for part in closest.absolute_path]).removeprefix("#")
    return Problem(path="" if path == "/" else path, message=message)
