"""When a new schema of objects refuses what the old one accepts.

The rules follow from what may stand beside the listed properties, the content model: anything
(open), nothing (closed), or what some schema allows (partially open). A property may be removed
when the new content model still lets it pass, and added when the old one did not let other values
of that name pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.schemas.json_schema.differences import Comparison, Difference, below
from penstock.schemas.json_schema.documents import Node
from penstock.schemas.json_schema.patterns import read_pattern
from penstock.schemas.json_schema.scalar_rules import lower_limit, typing_differences, upper_limit
from penstock.schemas.json_schema.shapes import Anything, Dependencies, Nothing, Properties


@dataclass(frozen=True, slots=True)
class ObjectRules:
    """The rules for one pair of object schemas."""

    comparison: Comparison
    old: Properties
    new: Properties

    def differences(self) -> Iterator[Difference]:
        """Yield what keeps objects of `old` from being objects of `new`."""
        yield from typing_differences(old=self.old.typed, new=self.new.typed)
        yield from self._required()
        for name in sorted(self.old.named.keys() | self.new.named.keys()):
            yield from below(("properties", name), self._property(name))
        yield from self._patterns()
        yield from self._rest()
        yield from self._names()
        yield from dependency_differences(
            self.comparison, self.old.dependencies, self.new.dependencies
        )
        yield from upper_limit("maxProperties", "MAX_PROPERTIES", self.old.most, self.new.most)
        yield from lower_limit("minProperties", "MIN_PROPERTIES", self.old.fewest, self.new.fewest)

    def _required(self) -> Iterator[Difference]:
        """Yield the names that are required only now.

        One with a default passes, as in Confluent's registry: readers are expected to fill it in.
        Unlike there, a name counts also when it is not under `properties`.
        """
        for name in sorted(self.new.required - self.old.required):
            added = name in self.new.named and name not in self.old.named
            if self._has_default(name) or (added and not self._was_open(name)):
                continue
            yield Difference(
                kind="REQUIRED_ATTRIBUTE_ADDED",
                way=("required", name),
                message=f"`{name}` is required, and has no default",
            )

    def _has_default(self, name: str) -> bool:
        node = self.new.named.get(name)
        return node is not None and isinstance(node.schema, dict) and "default" in node.schema

    def _property(self, name: str) -> Iterator[Difference]:
        old, new = self.old.named.get(name), self.new.named.get(name)
        if old is not None and new is not None:
            yield from self.comparison.differences(old, new)
        elif old is not None:
            yield from self._removed(old, name)
        elif new is not None:
            yield from self._added(name, new)

    def _removed(self, old: Node, name: str) -> Iterator[Difference]:
        answers = {
            pattern: self.comparison.found_in(pattern, name) for pattern in self.new.patterns
        }
        covering = [self.new.patterns[one] for one, found in answers.items() if found is not False]
        if self.new.rest.schema is not None and not any(answers.values()):
            covering.append(self.new.rest.schema)
        for schema in covering:
            yield from self._covered(old, schema, f"property `{name}` is not listed any more")

    def _covered(self, old: Node, new: Node, what: str) -> Iterator[Difference]:
        """Yield that values of a property that was removed are refused."""
        found = self.comparison.differences(old, new)
        if not found:
            return
        if isinstance(self.comparison.shape(new), Nothing):
            yield Difference(
                kind="PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
                message=f"{what}, and others are refused",
            )
            return
        yield from found
        yield Difference(
            kind="PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            message=f"{what}, and others have to be different",
        )

    def _added(self, name: str, new: Node) -> Iterator[Difference]:
        if self._was_open(name):
            if not self._is_open(new):
                yield Difference(
                    kind="PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
                    message=f"property `{name}` is new, where any value was accepted",
                )
            return
        yield from self._added_to_unopen(name, new)
        required = name in self.new.required and name not in self.old.required
        if required and not self._has_default(name):
            yield Difference(
                kind="REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
                message=f"property `{name}` is new and required, and has no default",
            )

    def _added_to_unopen(self, name: str, new: Node) -> Iterator[Difference]:
        tried = [self.comparison.differences(one, new) for one in self._old_guarantees(name)]
        if all(tried):
            yield from tried[0]
            yield Difference(
                kind="PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
                message=f"property `{name}` is new, where other values were accepted",
            )

    def _old_guarantees(self, name: str) -> list[Node]:
        """Return what surely held for values of an unlisted name; each of them did."""
        answers = {
            pattern: self.comparison.found_in(pattern, name) for pattern in self.old.patterns
        }
        surely = [self.old.patterns[pattern] for pattern, found in answers.items() if found]
        if self.old.rest.schema is not None and all(found is False for found in answers.values()):
            surely.append(self.old.rest.schema)
        return surely

    def _was_open(self, name: str) -> bool:
        return all(self._is_open(schema) for schema in self._old_guarantees(name))

    def _patterns(self) -> Iterator[Difference]:
        """Yield what new patterns refuse, and what removed ones leave to the rest.

        Confluent's registry does not look at patterns for themselves.
        """
        for pattern, new in self.new.patterns.items():
            yield from below(("patternProperties", pattern), self._new_pattern(pattern, new))
        if self.new.rest.schema is None:
            return
        for pattern, old in self.old.patterns.items():
            if pattern not in self.new.patterns:
                found = self._covered(old, self.new.rest.schema, "the pattern is gone")
                yield from below(("patternProperties", pattern), found)

    def _new_pattern(self, pattern: str, new: Node) -> Iterator[Difference]:
        if self._is_open(new):
            return
        if pattern in self.old.patterns:
            yield from self.comparison.differences(self.old.patterns[pattern], new)
            return
        for old in self._old_below(pattern):
            if old is None or self.comparison.differences(old, new):
                yield Difference(
                    kind="PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
                    if old is None
                    else "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
                    message="the pattern is new, and other values of such names were accepted",
                )
                return

    def _old_below(self, pattern: str) -> Iterator[Node | None]:
        """Yield the old schemas of all names that may match `pattern`; None for anything."""
        for name, schema in self.old.named.items():
            if self.comparison.found_in(pattern, name) is not False:
                yield schema
        for other, schema in self.old.patterns.items():
            if not read_pattern(pattern).excludes(read_pattern(other)):
                yield schema
        yield self.old.rest.schema

    def _rest(self) -> Iterator[Difference]:
        old, new = self.old.rest, self.new.rest
        if new.schema is None or self._is_open(new.schema):
            return
        refuses = isinstance(self.comparison.shape(new.schema), Nothing)
        if old.schema is not None and not self._is_open(old.schema) and not refuses:
            yield from below((new.keyword,), self.comparison.differences(old.schema, new.schema))
        elif old.schema is None or self.comparison.differences(old.schema, new.schema):
            yield Difference(
                kind="ADDITIONAL_PROPERTIES_REMOVED"
                if refuses
                else "ADDITIONAL_PROPERTIES_NARROWED",
                way=(new.keyword,),
                message="properties that are not listed "
                + ("are refused" if refuses else "may not be anything any more"),
            )

    def _is_open(self, schema: Node) -> bool:
        return isinstance(self.comparison.shape(schema), Anything)

    def _names(self) -> Iterator[Difference]:
        if self.new.names is None:
            return
        if self.old.names is not None:
            found = self.comparison.differences(self.old.names, self.new.names)
            yield from below(("propertyNames",), found)
        elif not self._is_open(self.new.names):
            yield Difference(
                kind="SCHEMA_ADDED",
                way=("propertyNames",),
                message="names of properties are limited",
            )


def dependency_differences(
    comparison: Comparison, old: Dependencies, new: Dependencies
) -> Iterator[Difference]:
    """Yield what the presence of a property asks for only now."""
    for name, needed in sorted(new.required.items()):
        before = old.required.get(name)
        if not needed - (before or frozenset()):
            continue
        if before is None:
            kind = "DEPENDENCY_ARRAY_ADDED"
        else:
            kind = "DEPENDENCY_ARRAY_" + ("EXTENDED" if before < needed else "CHANGED")
        listed = ", ".join(f"`{one}`" for one in sorted(needed - (before or frozenset())))
        yield Difference(
            kind=kind, way=(new.keyword, name), message=f"`{name}` is accepted only with {listed}"
        )
    for name, schema in sorted(new.schemas.items()):
        way = (new.schemas_keyword, name)
        if name in old.schemas:
            yield from below(way, comparison.differences(old.schemas[name], schema))
        elif not isinstance(comparison.shape(schema), Anything):
            yield Difference(
                kind="DEPENDENCY_SCHEMA_ADDED",
                way=way,
                message=f"objects with `{name}` have to fit another schema",
            )
