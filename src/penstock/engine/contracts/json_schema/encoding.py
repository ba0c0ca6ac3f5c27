"""Writing JSON under a schema.

A null field that the schema neither requires nor allows to be null is left out; other nulls are
written. A column of JSON text is written as the JSON it holds. Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.contracts.json_schema.batches import broken_in_batches
from penstock.engine.contracts.json_schema.checking import broken, first_of
from penstock.engine.contracts.json_schema.columns import VALUE
from penstock.engine.contracts.json_schema.decoding import derived_from
from penstock.engine.contracts.json_schema.fields import Field, JsonType, Kind, Member
from penstock.engine.contracts.json_schema.places import Place, document, is_whole, root_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from penstock.pipeline import Contract

_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}
_CASTABLE = (Kind.TEXT, Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN)


def encoded(contract: Contract, payload: Column) -> Column:
    """Return the JSON of `payload`, a struct with the columns of the contract, in bytes."""
    return _json_text(contract, payload).cast("binary")


def unwritable(contract: Contract, payload: Column) -> Column:
    """Return why `payload` cannot be written: what a reader would find wrong with its JSON."""
    assert contract.written is not None  # noqa: S101 - bound for writing
    derived = derived_from(contract.written)
    text = _json_text(contract, payload)
    reasons = [*_no_json(derived.root, payload), broken(derived.root, root_of(document(text)))]
    if not derived.complete:
        reasons.append(broken_in_batches(contract.written, text))
    return F.coalesce(*reasons)


def _json_text(contract: Contract, payload: Column) -> Column:
    assert contract.written is not None  # noqa: S101 - bound for writing
    root = derived_from(contract.written).root
    if root.kind is Kind.STRUCT:
        return _to_json(root, payload)
    return F.to_json(_variant(root, payload.getField(VALUE)))


def _to_json(field: Field, value: Column) -> Column:
    """Return the text of an object; Spark writes either all of its nulls or none."""
    all_nulls = _keeps_all_nulls(field)
    options = _OPTIONS | {"ignoreNullFields": "false" if all_nulls else "true"}
    return F.to_json(_written(field, value, nulls_as_variants=not all_nulls), options)


def _keeps_all_nulls(field: Field) -> bool:
    """Tell whether no null is to be left out."""
    return all(one.field.nullable or one.name in field.required for one in field.members) and all(
        map(_keeps_all_nulls, field.inner)
    )


def _written(field: Field, value: Column, *, nulls_as_variants: bool) -> Column:
    """Return a value as `to_json` is to find it."""

    def written(of: Field, one: Column) -> Column:
        return _written(of, one, nulls_as_variants=nulls_as_variants)

    def member(one: Member) -> Column:
        own = value.getField(one.name)
        if one.field.nullable and nulls_as_variants:
            return _variant(one.field, own).alias(one.name)
        return written(one.field, own).alias(one.name)

    element = field.element
    match field.kind:
        case Kind.JSON:
            return _parsed(value)
        case Kind.STRUCT:
            return F.when(value.isNotNull(), F.struct(*map(member, field.members)))
        case Kind.ARRAY if element is not None:
            return F.transform(value, lambda one: written(element, one))
        case Kind.MAP if element is not None:
            return F.transform_values(value, lambda _, one: written(element, one))
        case _:
            return value


def _variant(field: Field, value: Column) -> Column:
    """Return a value as a variant: `to_json` writes the `null` of a variant in any case."""
    null = F.parse_json(F.lit("null"))
    if field.kind is Kind.JSON:
        return F.coalesce(_parsed(value), null)
    if field.kind in _CASTABLE:
        return F.coalesce(value.cast("variant"), null)
    around = Field(
        kind=Kind.STRUCT,
        types=frozenset({JsonType.OBJECT}),
        members=(Member(name=VALUE, field=replace(field, types=field.types - {JsonType.NULL})),),
    )
    text = _to_json(around, F.struct(value.alias(VALUE)))
    return F.coalesce(F.try_variant_get(F.parse_json(text), f"$.{VALUE}", "variant"), null)


def _parsed(text: Column) -> Column:
    return root_of(document(text)).variant()


def _no_json(root: Field, payload: Column) -> Iterator[Column]:
    """Yield what is wrong with columns of JSON text: those that are none would be left out."""
    if root.kind is Kind.STRUCT:
        yield from _no_json_below(root, payload, ())
    else:
        yield from _no_json_below(root, payload.getField(VALUE), ())


def _no_json_below(
    field: Field, value: Column, pointer: tuple[str | Column, ...]
) -> Iterator[Column]:
    element = field.element
    if not _holds_json(field):
        return
    match field.kind:
        case Kind.JSON:
            told = Place(root=value, pointer=pointer).told(" is not JSON")
            yield F.when(value.isNotNull() & ~is_whole(document(value)), told)
        case Kind.STRUCT:
            for one in field.members:
                yield from _no_json_below(
                    one.field, value.getField(one.name), (*pointer, f"/{one.name}")
                )
        case Kind.ARRAY if element is not None:

            def below(one: Column, index: Column) -> Column:
                its_pointer = (*pointer, "/", index.cast("string"))
                return F.coalesce(*_no_json_below(element, one, its_pointer))

            yield first_of(F.transform(value, below))
        case Kind.MAP if element is not None:

            def beside(entry: Column) -> Column:
                its_pointer = (*pointer, "/", entry["key"])
                return F.coalesce(*_no_json_below(element, entry["value"], its_pointer))

            yield first_of(F.transform(F.map_entries(value), beside))
        case _:
            pass


def _holds_json(field: Field) -> bool:
    return field.kind is Kind.JSON or any(map(_holds_json, field.inner))
