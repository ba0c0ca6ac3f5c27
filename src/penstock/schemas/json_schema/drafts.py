"""The drafts of JSON Schema, and which of their keywords hold further schemas."""

from collections.abc import Iterator
from enum import IntEnum

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.protocols import Validator

Keywords = dict[str, object]
"""A schema that is a JSON object."""


class Draft(IntEnum):
    """A version of the specification; later ones compare greater."""

    DRAFT_04 = 4
    DRAFT_06 = 6
    DRAFT_07 = 7
    DRAFT_2019_09 = 2019
    DRAFT_2020_12 = 2020

    @property
    def validator(self) -> type[Validator]:
        """The library's validator for this draft."""
        return _VALIDATORS[self]

    @property
    def address(self) -> str:
        """What `$schema` says in schemas of this draft."""
        return str(self.validator.META_SCHEMA[self.id_keyword])

    @property
    def id_keyword(self) -> str:
        """The keyword that gives a schema its address."""
        return "id" if self is Draft.DRAFT_04 else "$id"

    @property
    def ref_replaces_siblings(self) -> bool:
        """Whether `$ref` makes all keywords beside it void, as it did before 2019-09."""
        return self <= Draft.DRAFT_07


_VALIDATORS: dict[Draft, type[Validator]] = {
    Draft.DRAFT_04: Draft4Validator,
    Draft.DRAFT_06: Draft6Validator,
    Draft.DRAFT_07: Draft7Validator,
    Draft.DRAFT_2019_09: Draft201909Validator,
    Draft.DRAFT_2020_12: Draft202012Validator,
}

_ADDRESSES = {
    "http://json-schema.org/draft-04/schema": Draft.DRAFT_04,
    "http://json-schema.org/draft-06/schema": Draft.DRAFT_06,
    "http://json-schema.org/draft-07/schema": Draft.DRAFT_07,
    "https://json-schema.org/draft/2019-09/schema": Draft.DRAFT_2019_09,
    "https://json-schema.org/draft/2020-12/schema": Draft.DRAFT_2020_12,
}

# 2019-09 renamed `definitions` to `$defs` and goes on to accept both.
_MAPS = ("properties", "patternProperties", "definitions")
_LATER_MAPS = ("dependentSchemas", "$defs")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("additionalProperties", "not")
_SINCE = {
    "contains": Draft.DRAFT_06,
    "propertyNames": Draft.DRAFT_06,
    "if": Draft.DRAFT_07,
    "then": Draft.DRAFT_07,
    "else": Draft.DRAFT_07,
    "unevaluatedItems": Draft.DRAFT_2019_09,
    "unevaluatedProperties": Draft.DRAFT_2019_09,
    "contentSchema": Draft.DRAFT_2019_09,
}


def draft_of(schema: object) -> Draft:
    """Return the draft that `$schema` names; draft-07, as in Confluent's registry, if none does."""
    address = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(address, str):
        return Draft.DRAFT_07
    return _ADDRESSES.get(address.rstrip("#"), Draft.DRAFT_07)


def children(schema: Keywords, draft: Draft) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield what stands where `draft` has a schema, with the way to it."""
    for keyword in (*_SINGLE, *(name for name, since in _SINCE.items() if draft >= since)):
        if keyword in schema:
            yield (keyword,), schema[keyword]
    for keyword in _MAPS if draft <= Draft.DRAFT_07 else (*_MAPS, *_LATER_MAPS):
        yield from _in_map(schema, keyword)
    if draft <= Draft.DRAFT_07:
        yield from _dependencies(schema)
    yield from _items(schema, draft)
    for keyword in _LISTS:
        yield from _in_list(schema, keyword)


def _in_map(schema: Keywords, keyword: str) -> Iterator[tuple[tuple[str, ...], object]]:
    entries = schema.get(keyword)
    if isinstance(entries, dict):
        for name, child in entries.items():
            yield (keyword, name), child


def _in_list(schema: Keywords, keyword: str) -> Iterator[tuple[tuple[str, ...], object]]:
    entries = schema.get(keyword)
    if isinstance(entries, list):
        for position, child in enumerate(entries):
            yield (keyword, str(position)), child


def _dependencies(schema: Keywords) -> Iterator[tuple[tuple[str, ...], object]]:
    for way, child in _in_map(schema, "dependencies"):
        if not isinstance(child, list):
            yield way, child


def _items(schema: Keywords, draft: Draft) -> Iterator[tuple[tuple[str, ...], object]]:
    if draft >= Draft.DRAFT_2020_12:
        yield from _in_list(schema, "prefixItems")
    elif "additionalItems" in schema:
        yield ("additionalItems",), schema["additionalItems"]
    if isinstance(schema.get("items"), list):
        yield from _in_list(schema, "items")
    elif "items" in schema:
        yield ("items",), schema["items"]
