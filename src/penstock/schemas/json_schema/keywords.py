"""Whether the keywords of a schema have values that its draft's meta-schema allows.

The meta-schema is applied to one schema at a time, with its recursion cut: `documents.py` visits
each subschema anyway. That, and remembering what was seen, makes a long schema take a fraction of
a second instead of minutes.
"""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast
from urllib.parse import urljoin

from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator

from penstock.schemas.json_schema.assertions import strict
from penstock.schemas.json_schema.drafts import Draft, Keywords
from penstock.schemas.json_schema.meta_schemas import meta_schema
from penstock.schemas.json_schema.patterns import PatternError, read_pattern
from penstock.schemas.json_text import dump_json

_RECURSIONS: tuple[Keywords, ...] = (
    {"$ref": "#"},
    {"$recursiveRef": "#"},
    {"$dynamicRef": "#meta"},
)
_ADDRESSES = ("$id", "id", "$ref", "$dynamicRef", "$recursiveRef", "$schema")
_DEFINITIONS = ("definitions", "$defs")
_MAX_TOLD_CHARS = 200
_MAX_REMEMBERED_CHARS = 100
_MAX_REMEMBERED_ENTRIES = 10
_PLAIN_RULE = frozenset(
    {"type", "items", "uniqueItems", "minItems", "format", "default", "$comment", "deprecated"}
)


class KeywordError(ValueError):
    """A keyword has a value that the meta-schema forbids."""

    def __init__(self, *, reason: str, way: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.way = way


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    reason: str
    way: tuple[str, ...]


def check_keywords(schema: object, draft: Draft) -> bool | Keywords:
    """Return `schema` when it is one, its subschemas left aside.

    Raises:
        KeywordError: it is not, for the keyword that the error's way leads to.
    """
    if isinstance(schema, bool):
        # Where draft-04 has none, the keyword around it does not allow it.
        return schema
    if not isinstance(schema, dict):
        raise KeywordError(reason=f"{_told(schema)} is not a schema, an object or a boolean is")
    rules = _rules(draft)
    for keyword, value in schema.items():
        rule = rules.get(keyword)
        if rule is None or _plainly_fits(rule.schema, value):
            continue
        if (fault := _fault(draft, keyword, value)) is not None:
            raise KeywordError(reason=fault.reason, way=fault.way)
    _check_siblings(schema, draft)
    _check_patterns(schema)
    _check_addresses(schema)
    return schema


def _check_siblings(schema: Keywords, draft: Draft) -> None:
    """Draft-04 has `exclusiveMinimum` as a property of `minimum`, and not alone."""
    if draft is not Draft.DRAFT_04:
        return
    for keyword, needed in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if keyword in schema and needed not in schema:
            raise KeywordError(reason=f"`{keyword}` stands without `{needed}`", way=(keyword,))


def _check_patterns(schema: Keywords) -> None:
    patterns = schema.get("patternProperties")
    named = [("patternProperties", name) for name in patterns] if isinstance(patterns, dict) else []
    if isinstance(pattern := schema.get("pattern"), str):
        named.append(("pattern", pattern))
    for keyword, pattern in named:
        try:
            read_pattern(pattern)
        except PatternError as error:
            raise KeywordError(
                reason=f"{_told(pattern)} is not a regular expression: {error}", way=(keyword,)
            ) from error


def _check_addresses(schema: Keywords) -> None:
    for keyword in _ADDRESSES:
        address = schema.get(keyword)
        if isinstance(address, str) and not is_address(address):
            raise KeywordError(reason=f"{_told(address)} is not an address", way=(keyword,))


def is_address(text: str) -> bool:
    """Whether references can be resolved from `text`, or to it."""
    try:
        urljoin("https://example.com/", text)
    except ValueError:
        return False
    return True


@cache
def _rules(draft: Draft) -> dict[str, Validator]:
    """Return what the meta-schema says of each keyword."""
    meta = _flat_meta_schema(draft)
    root = strict(draft)(meta)
    properties = cast("Keywords", meta["properties"])
    return {name: root.evolve(schema=_inlined(rule, meta)) for name, rule in properties.items()}


def _inlined(rule: object, meta: Keywords) -> object:
    """Return what `rule` refers to, when that is all it says."""
    if not isinstance(rule, dict) or rule.keys() != {"$ref"}:
        return rule
    part, name = str(rule["$ref"]).split("/")[1:]
    return cast("Keywords", meta[part])[name]


def _flat_meta_schema(draft: Draft) -> Keywords:
    """Return one schema without recursion for the meta-schema and its vocabularies."""
    main = cast("Keywords", draft.validator.META_SCHEMA)
    flat: Keywords = {"properties": {}}
    for source in (main, *_vocabularies(main)):
        cut = cast("Keywords", _without_recursion(source, draft))
        for part in ("properties", *_DEFINITIONS):
            merged = cast("Keywords", flat.setdefault(part, {}))
            merged |= cast("Keywords", cut.get(part, {}))
    return flat


def _vocabularies(main: Keywords) -> list[Keywords]:
    address = str(main.get("$id", ""))
    parts = cast("list[dict[str, str]]", main.get("allOf", []))
    base = address.rpartition("/")[0]
    return [meta_schema(f"{base}/{part['$ref']}") or {} for part in parts]


def _without_recursion(value: object, draft: Draft) -> object:
    if value in _RECURSIONS:
        return {"type": "object" if draft is Draft.DRAFT_04 else ["object", "boolean"]}
    if isinstance(value, dict) and isinstance(target := value.get("$ref"), str):
        # Vocabularies refer to each other; here they are one.
        return value | {"$ref": f"#{target.partition('#')[2]}"}
    if isinstance(value, dict):
        cut = {name: _without_recursion(part, draft) for name, part in value.items()}
        if value.get("additionalProperties") in _RECURSIONS and draft > Draft.DRAFT_04:
            # There may be thousands of them, and each is checked when it is visited.
            cut["additionalProperties"] = True
        return cut
    if isinstance(value, list):
        return [_without_recursion(part, draft) for part in value]
    return value


def _plainly_fits(rule: object, value: object) -> bool:
    """Tell without the library what most keywords are about: texts, and lists of names."""
    if not isinstance(rule, dict):
        return rule is True
    if not rule.keys() <= _PLAIN_RULE:
        return False
    if isinstance(value, list) and rule.get("items") == {"type": "string"}:
        distinct = {name for name in value if isinstance(name, str)}
        return len(distinct) == len(value) and len(value) >= rule.get("minItems", 0)
    return not rule or (isinstance(value, str) and rule.get("type") == "string")


def _fault(draft: Draft, keyword: str, value: object) -> _Fault | None:
    """Ask once for each short value: schemas repeat themselves."""
    short = isinstance(value, list) and len(value) <= _MAX_REMEMBERED_ENTRIES
    parts = value if short and isinstance(value, list) else [value]
    if any(not isinstance(part, str | int | float) for part in parts):
        return _checked(draft, keyword, value)
    text = dump_json(value)
    if len(text) > _MAX_REMEMBERED_CHARS:
        return _checked(draft, keyword, value)
    return _checked_text(draft, keyword, text)


@lru_cache(maxsize=10_000)
def _checked_text(draft: Draft, keyword: str, text: str) -> _Fault | None:
    return _checked(draft, keyword, json.loads(text))


def _checked(draft: Draft, keyword: str, value: object) -> _Fault | None:
    error = best_match(_rules(draft)[keyword].iter_errors(cast("Any", value)))
    if error is None:
        return None
    # Where the meta-schema has alternatives, the one about the value says more than those about
    # its type: `type` may be one of seven names, or a list of them.
    told = next((one for one in error.context or () if one.validator != "type"), error)
    way = (keyword, *(str(part) for part in error.absolute_path))
    return _Fault(reason=f"`{way[-1]}` is {_told(told.instance)}, {_wanted(told)}", way=way)


def _wanted(error: ValidationError) -> str:
    expected = error.validator_value
    match error.validator:
        case "type":
            kinds = expected if isinstance(expected, list) else [expected]
            return f"expected {' or '.join(_named(str(kind)) for kind in kinds)}"
        case "enum":
            return f"expected one of {_told(expected)}"
        case "minimum" if not _is_exclusive(error):
            return f"expected at least {expected}"
        case "minimum" | "exclusiveMinimum":
            return f"expected more than {expected}"
        case "minItems":
            return f"expected at least {expected} entry"
        case "uniqueItems":
            return "expected each entry once"
        case "pattern":
            return f"expected a text like `{expected}`"
        case _:
            return f"which the meta-schema forbids (`{error.validator}`)"


def _is_exclusive(error: ValidationError) -> bool:
    return isinstance(error.schema, dict) and error.schema.get("exclusiveMinimum") is True


def _named(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _told(value: object) -> str:
    text = dump_json(value)
    return f"`{text[:_MAX_TOLD_CHARS]}{'…' if len(text) > _MAX_TOLD_CHARS else ''}`"
