"""When a new schema of arrays refuses what the old one accepts.

As with objects, the content model decides: what may follow after the items of a tuple. A schema
for all items is a tuple without any, and a rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.schemas.json_schema.differences import Comparison, Difference, below
from penstock.schemas.json_schema.documents import Node
from penstock.schemas.json_schema.scalar_rules import lower_limit, typing_differences, upper_limit
from penstock.schemas.json_schema.shapes import Anything, Items, Nothing


@dataclass(frozen=True, slots=True)
class ArrayRules:
    """The rules for one pair of array schemas."""

    comparison: Comparison
    old: Items
    new: Items

    def differences(self) -> Iterator[Difference]:
        """Yield what keeps arrays of `old` from being arrays of `new`."""
        yield from typing_differences(old=self.old.typed, new=self.new.typed)
        for position in range(max(len(self.old.first), len(self.new.first))):
            way = (self.new.first_keyword, str(position))
            yield from below(way, self._item(position))
        yield from self._rest()
        yield from self._contains()
        if self.new.unique and not self.old.unique:
            yield Difference(
                kind="UNIQUE_ITEMS_ADDED", way=("uniqueItems",), message="items must be unique"
            )
        yield from upper_limit("maxItems", "MAX_ITEMS", self.old.most, self.new.most)
        yield from lower_limit("minItems", "MIN_ITEMS", self.old.fewest, self.new.fewest)

    def _item(self, position: int) -> Iterator[Difference]:
        if position >= len(self.new.first):
            yield from self._removed(self.old.first[position])
        elif position >= len(self.old.first):
            yield from self._added(self.new.first[position])
        else:
            yield from self.comparison.differences(
                self.old.first[position], self.new.first[position]
            )

    def _removed(self, old: Node) -> Iterator[Difference]:
        rest = self.new.rest.schema
        found = self.comparison.differences(old, rest) if rest is not None else ()
        if rest is None or not found:
            return
        if isinstance(self.comparison.shape(rest), Nothing):
            yield Difference(
                kind="ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
                message="the item is not listed any more, and others are refused",
            )
            return
        yield from found
        yield Difference(
            kind="ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            message="the item is not listed any more, and others have to be different",
        )

    def _added(self, new: Node) -> Iterator[Difference]:
        rest = self.old.rest.schema
        if rest is None or isinstance(self.comparison.shape(rest), Anything):
            if not isinstance(self.comparison.shape(new), Anything):
                yield Difference(
                    kind="ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
                    message="the item is new, where any value was accepted",
                )
            return
        found = self.comparison.differences(rest, new)
        if found:
            yield from found
            yield Difference(
                kind="ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
                message="the item is new, where other values were accepted",
            )

    def _rest(self) -> Iterator[Difference]:
        old, new = self.old.rest.schema, self.new.rest.schema
        if new is None or isinstance(self.comparison.shape(new), Anything):
            return
        way = (self.new.rest.keyword,)
        if old is not None and not isinstance(self.comparison.shape(old), Anything):
            if not self._refuses(new):
                yield from below(way, self.comparison.differences(old, new))
                return
            if not self.comparison.differences(old, new):
                return
        yield Difference(
            kind=self._kind_of_new_rest(new),
            way=way,
            message="items that are not listed "
            + ("are refused" if self._refuses(new) else "may not be anything any more"),
        )

    def _kind_of_new_rest(self, new: Node) -> str:
        if not self.old.first and not self.new.first and self.new.rest.keyword == "items":
            return "SCHEMA_ADDED"
        return "ADDITIONAL_ITEMS_REMOVED" if self._refuses(new) else "ADDITIONAL_ITEMS_NARROWED"

    def _refuses(self, schema: Node) -> bool:
        return isinstance(self.comparison.shape(schema), Nothing)

    def _contains(self) -> Iterator[Difference]:
        """Yield what `contains` asks for only now.

        To find enough items the new schema has to be the wider one, to find not too many the
        narrower one.
        """
        new = self.new.contains
        if new is None or (not self.new.fewest_contained and self.new.most_contained is None):
            return
        if self.old.contains is None:
            yield Difference(
                kind="SCHEMA_ADDED", way=("contains",), message="some items have to be different"
            )
            return
        if self.new.fewest_contained:
            yield from below(("contains",), self.comparison.differences(self.old.contains, new))
        counts = self.new.most_contained is not None
        if counts and self.comparison.differences(new, self.old.contains):
            yield Difference(
                kind="TYPE_CHANGED", way=("contains",), message="other items are counted"
            )
        yield from upper_limit(
            "maxContains", "MAX_CONTAINS", self.old.most_contained, self.new.most_contained
        )
        yield from lower_limit(
            "minContains", "MIN_CONTAINS", self.old.fewest_contained, self.new.fewest_contained
        )
