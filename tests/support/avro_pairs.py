"""Random pairs of Avro schemas, of which the second is the first after some changes."""

import copy
import itertools
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from support.avro import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
DEFAULTS: dict[str, Json] = {
    "null": None, "boolean": True, "int": 1, "long": 1, "float": 0.5, "double": 0.5,
    "bytes": "b", "string": "s",
}  # fmt: skip

Node = Json


@st.composite
def schema_pairs(draw: DrawFn) -> tuple[Json, Json]:
    """Return the schemas of a writer and of a reader."""
    writer = Making(draw, itertools.count()).schema(depth=3)
    return writer, Changing(draw).changed(copy.deepcopy(writer))


class Making:
    """Makes schemas whose named types tell their kind by the first letter of their names."""

    def __init__(self, draw: DrawFn, numbers: "itertools.count[int]") -> None:
        self._draw = draw
        self._numbers = numbers
        self._records: list[str] = []

    def schema(self, depth: int) -> Node:
        kinds: list[Callable[[int], Node]] = [self.primitive, self.enum, self.fixed]
        if depth > 0:
            kinds += [self.record, self.record, self.array, self.map, self.union, self.known]
        return self._draw(st.sampled_from(kinds))(depth)

    def primitive(self, _depth: int) -> Node:
        return self._draw(st.sampled_from(PRIMITIVES))

    def enum(self, _depth: int) -> Node:
        symbols = self._draw(st.lists(st.sampled_from("ABCD"), min_size=1, unique=True))
        return {"type": "enum", "name": self._name("E"), "symbols": symbols}

    def fixed(self, _depth: int) -> Node:
        return {"type": "fixed", "name": self._name("F"), "size": self._draw(st.integers(0, 2))}

    def array(self, depth: int) -> Node:
        return {"type": "array", "items": self.schema(depth - 1)}

    def map(self, depth: int) -> Node:
        return {"type": "map", "values": self.schema(depth - 1)}

    def known(self, depth: int) -> Node:
        """Return the name of a record that is defined before, or within which this one is."""
        names = self._records
        return self._draw(st.sampled_from(names)) if names else self.primitive(depth)

    def record(self, depth: int) -> Node:
        name = self._name("R")
        self._records.append(name)
        count = self._draw(st.integers(0, 3))
        fields = [self.field(letter, depth) for letter in "abc"[:count]]
        return {"type": "record", "name": name, "fields": fields}

    def field(self, name: str, depth: int) -> Node:
        made: dict[str, Json] = {"name": name, "type": self.schema(depth - 1)}
        if isinstance(made["type"], str) and made["type"] in DEFAULTS and self._draw(st.booleans()):
            made["default"] = DEFAULTS[made["type"]]
        return made

    def union(self, depth: int) -> Node:
        simple = [self.primitive, self.enum, self.fixed]
        kinds = [*simple, self.record, self.array, self.map, self.known]
        chosen = self._draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique=True))
        return distinct(make(depth - 1) for make in chosen)

    def _name(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"


class Changing:
    """Changes schemas in place, as those who evolve them do, well or badly."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw
        self._renamed: dict[str, str] = {}
        self._making = Making(draw, itertools.count(100))

    def changed(self, node: Node) -> Node:
        if self._now_and_then():
            return self._another(node)
        if isinstance(node, str):
            return self._renamed.get(node, node)
        if isinstance(node, list):
            return self._union(node)
        assert isinstance(node, dict)
        if node["type"] in ("record", "enum", "fixed"):
            self._rename(node)
        if node["type"] == "record":
            self._fields(node)
        elif node["type"] == "enum":
            self._symbols(node)
        elif node["type"] == "fixed" and self._now_and_then():
            node["size"] += 1
        for inner in {"items", "values"} & node.keys():
            node[inner] = self.changed(node[inner])
        return node

    def _another(self, node: Node) -> Node:
        if isinstance(node, list):
            return self.changed(self._draw(st.sampled_from(node)))
        kind = self._draw(st.integers(0, 3))
        if kind == 0:
            return self._making.schema(depth=1)
        if kind == 1:
            return self._making.primitive(0)
        inner = self.changed(node)
        if isinstance(inner, list) or branch_word(inner) == "null":
            return inner
        return self._draw(st.permutations(["null", inner]))

    def _rename(self, node: dict[str, Json]) -> None:
        old = str(node["name"])
        new = f"{old[0]}{int(old[1:]) + 50}"
        if self._now_and_then():
            self._renamed[old] = new
            node["name"] = new
            if self._draw(st.booleans()):
                node["aliases"] = [old]

    def _fields(self, node: dict[str, Json]) -> None:
        fields = node["fields"]
        assert isinstance(fields, list)
        kept = [self._field(one) for one in fields if not self._now_and_then()]
        if self._now_and_then():
            kept.append(self._making.field("added", 1))
        node["fields"] = self._draw(st.permutations(kept)) if self._now_and_then() else kept

    def _field(self, one: dict[str, Json]) -> Json:
        kept = one["type"]
        one["type"] = self.changed(kept)
        if one["type"] != kept:
            one.pop("default", None)
        if self._now_and_then():
            one["name"], old = f"{one['name']}_new", one["name"]
            if self._draw(st.booleans()):
                one["aliases"] = [old]
        return one

    def _symbols(self, node: dict[str, Json]) -> None:
        symbols = node["symbols"]
        assert isinstance(symbols, list)
        if self._now_and_then():
            node["symbols"] = [*symbols[1:], "Z"]
        if self._now_and_then():
            node["default"] = "Z" if "Z" in str(node["symbols"]) else symbols[0]

    def _union(self, node: list[Node]) -> Node:
        added = [self._making.schema(depth=0)] if self._now_and_then() else []
        branches = distinct([*map(self.changed, node), *added]) or ["null"]
        return self._draw(st.permutations(branches)) if self._now_and_then() else branches

    def _now_and_then(self) -> bool:
        return self._draw(st.integers(0, 4)) == 4


def branch_word(node: Node) -> str:
    """Return what tells the branches of a union apart."""
    if isinstance(node, dict):
        return str(node["name"] if "name" in node else node["type"])
    return str(node)


def distinct(branches: "Iterable[Node]") -> list[Node]:
    """Return what a union may have of these branches, the first of each kind."""
    found: dict[str, Node] = {}
    for branch in branches:
        if not isinstance(branch, list):
            found.setdefault(branch_word(branch), branch)
    return list(found.values())
