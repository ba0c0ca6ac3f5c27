"""The filter of a query: a tree of conditions on fields."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

Fields = Mapping[str, str]
"""The fields of a series by name, such as `metric.topic` and `resource.kafka.id`."""


class FieldFilter(BaseModel):
    """A condition on one field."""

    model_config = ConfigDict(extra="forbid")
    op: Literal["EQ", "GT", "GTE", "LT", "LTE"]
    field: str
    value: str | int | float

    def accepts(self, fields: Fields) -> bool:
        """Return whether the field of a series is as wanted."""
        return _COMPARISONS[self.op](*_comparable(fields[self.field], str(self.value)))

    def names(self) -> set[str]:
        """Return the fields that are asked about."""
        return {self.field}


class NotFilter(BaseModel):
    """What a condition is not true of."""

    model_config = ConfigDict(extra="forbid")
    op: Literal["NOT"]
    filter: "Filter"

    def accepts(self, fields: Fields) -> bool:
        """Return whether the condition is false."""
        return not self.filter.accepts(fields)

    def names(self) -> set[str]:
        """Return the fields that are asked about."""
        return self.filter.names()


class CompoundFilter(BaseModel):
    """What several conditions are true of: all of them or any."""

    model_config = ConfigDict(extra="forbid")
    op: Literal["AND", "OR"]
    filters: Annotated[list["Filter"], Field(min_length=1)]

    def accepts(self, fields: Fields) -> bool:
        """Return whether all conditions are true, or any."""
        found = (each.accepts(fields) for each in self.filters)
        return all(found) if self.op == "AND" else any(found)

    def names(self) -> set[str]:
        """Return the fields that are asked about."""
        return set().union(*(each.names() for each in self.filters))


def _kind(value: object) -> str:
    op = value.get("op") if isinstance(value, dict) else getattr(value, "op", None)
    return {"AND": "compound", "OR": "compound", "NOT": "not"}.get(str(op), "field")


Filter = Annotated[
    Annotated[FieldFilter, Tag("field")]
    | Annotated[NotFilter, Tag("not")]
    | Annotated[CompoundFilter, Tag("compound")],
    Discriminator(_kind),
]

_COMPARISONS: Mapping[str, Callable[[str | float, str | float], bool]] = {
    "EQ": lambda found, wanted: found == wanted,
    "GT": lambda found, wanted: found > wanted,  # type: ignore[operator] # both are of one type
    "GTE": lambda found, wanted: found >= wanted,  # type: ignore[operator]
    "LT": lambda found, wanted: found < wanted,  # type: ignore[operator]
    "LTE": lambda found, wanted: found <= wanted,  # type: ignore[operator]
}


def _comparable(found: str, wanted: str) -> tuple[str, str] | tuple[float, float]:
    """Return both as numbers when both are: partition 10 comes after partition 9."""
    try:
        return float(found), float(wanted)
    except ValueError:
        return found, wanted
