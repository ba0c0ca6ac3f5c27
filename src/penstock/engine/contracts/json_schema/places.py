"""A place in a JSON document that Spark has parsed into a variant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")
_QUOTABLE_NAME = re.compile(r"\S[^'?]*")
_END = "penstock end of record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value stands, below a variant; a chain of names is one look-up."""

    root: Column
    path: str = "$"
    pointer: tuple[str | Column, ...] = ()
    """The JSON pointer of the document, in pieces; the indexes of arrays are columns."""

    def variant(self) -> Column:
        """Return the value, null if there is none; JSON's own `null` is a variant."""
        return self.as_type("variant")

    def as_type(self, kind: str) -> Column:
        """Return the value as a type of Spark, null if it is not one."""
        return F.try_variant_get(self.root, self.path, kind)

    def type_name(self) -> Column:
        """Return what Spark calls the type: `BIGINT`, `OBJECT<…>`; null if there is no value."""
        return F.schema_of_variant(self.variant())

    def child(self, name: str) -> Place:
        """Return the place of a property."""
        pointer = (*self.pointer, "/" + name.replace("~", "~0").replace("/", "~1"))
        if _PLAIN_NAME.fullmatch(name):
            return Place(root=self.root, path=f"{self.path}.{name}", pointer=pointer)
        if _QUOTABLE_NAME.fullmatch(name):
            return Place(root=self.root, path=f"{self.path}['{name}']", pointer=pointer)
        # Spark's paths have no way to write such a name.
        return Place(
            root=F.try_element_at(self.as_type("map<string,variant>"), F.lit(name)), pointer=pointer
        )

    def told(self, *text: str | Column) -> Column:
        """Return a sentence about the place."""
        subject = ("`", *self.pointer, "`") if self.pointer else ("the document",)
        return F.concat(*(F.lit(one) if isinstance(one, str) else one for one in (*subject, *text)))


def document(text: Column) -> Column:
    """Return the variant of a JSON text and a mark behind it, null if it is not JSON.

    Spark stops at the end of the first value. What does not end there never reaches the mark, or
    has more than the mark behind it.
    """
    return F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{_END}"]')))


def is_whole(parsed: Column) -> Column:
    """Tell whether what `document` returned is one JSON value and nothing else."""
    mark = F.try_variant_get(parsed, "$[1]", "string").eqNullSafe(_END)
    return mark & F.try_variant_get(parsed, "$[2]", "variant").isNull()


def root_of(parsed: Column) -> Place:
    """Return the place of the whole document in what `document` returned."""
    return Place(root=parsed, path="$[0]")
