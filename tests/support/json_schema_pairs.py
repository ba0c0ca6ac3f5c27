"""Random pairs of JSON Schemas, of which the second is the first after some changes."""

import copy
import re
from collections.abc import Callable, Iterator
from random import Random

from support.json_schemas import DRAFTS, Json

NAMES = ["a", "b", "S_c", "I_d"]
PATTERNS = ["^S_", "^I_", "a", "^(a|b)$"]
STRINGS = ["", "a", "ab", "abc", "b", "ba"]
NUMBERS = [0, 1, 2, 3, 4, -1, 1.5, 0.5, 1.0]
VALUES: list[Json] = [*STRINGS, *NUMBERS, True, False, None]
MODERN = ("2019-09", "2020-12")

DEFINITIONS = {
    "tree": {"type": "object", "properties": {"a": {"$ref": "#/definitions/tree"}}},
    "word": {"type": "string", "maxLength": 2},
}


class Making:
    """Makes schemas, changes in them, and documents for them.

    `plain` schemas are without what Confluent lets pass on purpose. The choices are a `Random`'s
    and not Hypothesis's, which would take twenty times as long for them.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._draft = random.choice(list(DRAFTS))
        self._modern = self._draft in MODERN

    def pair(self) -> tuple[Json, Json]:
        """Return an old schema and a new one, of the same draft."""
        old = self.schema(depth=2, plain=False)
        new = self.changed(copy.deepcopy(old))
        return self.whole(old), self.whole(new)

    def whole(self, schema: Json) -> Json:
        definitions = copy.deepcopy(DEFINITIONS)
        return {"$schema": DRAFTS[self._draft], "definitions": definitions} | schema

    def schema(self, depth: int, *, plain: bool) -> Json:
        kinds = ["string", "number", "integer", "null", "choice", "reference"]
        if depth > 0:
            kinds += ["object", "object", "array", "array", "mixed"]
        kind = self._one(kinds)
        if kind == "reference":
            return {"$ref": self._one(["#/definitions/tree", "#/definitions/word"])}
        schema = self._typed(kind)
        table = self.keywords(kind, depth, plain=plain)
        for name in self._some(sorted(table), 3):
            schema[name] = table[name]()
        return schema

    def _typed(self, kind: str) -> Json:
        if kind in ("choice", "mixed") or self._likely(0.2):
            return {}
        return {"type": [kind, "null"] if self._likely(0.15) else kind}

    def changed(self, schema: Json) -> Json:
        """Return `schema` with a keyword or two added, removed or changed somewhere in it."""
        for _ in range(self._random.randint(1, 2)):
            inside = [one for one in subschemas(schema) if "$ref" not in one] or [schema]
            target = self._one(inside)
            kind = kind_of(target)
            table = self.keywords(kind, 1, plain=False)
            name = self._one(["type", *sorted(table)])
            if name == "type":
                target["type"] = self._one(
                    [kind, [kind, "null"], "number", "string"]
                    if kind not in ("choice", "mixed")
                    else ["integer", "object"]
                )
            elif name in target and self._likely(0.5):
                del target[name]
            elif name in target and name in ("properties", "required", "enum", "patternProperties"):
                target[name] = self._edited(target[name], table[name]())
            else:
                target[name] = table[name]()
        return schema

    def _edited(self, old: Json, other: Json) -> Json:
        """Return `old` with an entry more or less."""
        if isinstance(old, dict):
            return old | other if self._likely(0.5) else dict(list(old.items())[1:])
        merged = [*old, *(entry for entry in other if entry not in old)]
        return merged if self._likely(0.5) else old[1:] or old

    def keywords(self, kind: str, depth: int, *, plain: bool) -> dict[str, Callable[[], Json]]:
        """Return a maker for each keyword that means something for `kind`."""
        match kind:
            case "string":
                return self._string()
            case "number" | "integer":
                return self._number()
            case "object":
                return self._object(depth, plain=plain)
            case "array":
                return self._array(depth, plain=plain)
            case "mixed":
                return self._mixed(depth, plain=plain)
            case _:
                return {"enum": lambda: self._some(["a", "b", 1, 1.5, None], 3, least=1)}

    def _string(self) -> dict[str, Callable[[], Json]]:
        return {
            "minLength": self._count,
            "maxLength": self._count,
            "pattern": lambda: self._one(["^a", "b$"]),
        }

    def _number(self) -> dict[str, Callable[[], Json]]:
        limits = ["minimum", "maximum"]
        if self._draft != "draft-04":
            limits += ["exclusiveMinimum", "exclusiveMaximum"]
        return dict.fromkeys(limits, self._count) | {
            "multipleOf": lambda: self._one([1, 2, 4, 0.5, 3])
        }

    def _object(self, depth: int, *, plain: bool) -> dict[str, Callable[[], Json]]:
        def child() -> Json:
            return self.schema(depth - 1, plain=plain)

        def with_default() -> Json:
            return child() | ({"default": 1} if not plain and self._likely(0.2) else {})

        makers: dict[str, Callable[[], Json]] = {
            "properties": lambda: {name: with_default() for name in self._some(NAMES, 3)},
            "required": lambda: self._some(NAMES, 2, least=1),
            "patternProperties": lambda: {name: child() for name in self._some(PATTERNS, 2)},
            "additionalProperties": lambda: self._one([False, False, True, child()]),
            "minProperties": self._count,
            "maxProperties": self._count,
        }
        if self._draft != "draft-04":
            makers["propertyNames"] = lambda: self._one([{"maxLength": 2}, {"enum": ["a", "b"]}])
        if self._modern:
            makers["unevaluatedProperties"] = lambda: self._one([False, True, child()])
            makers["dependentRequired"] = lambda: {self._one(NAMES): self._some(NAMES, 2)}
            makers["dependentSchemas"] = lambda: {self._one(NAMES): child()}
        else:
            makers["dependencies"] = lambda: {
                self._one(NAMES): child() if self._likely(0.5) else self._some(NAMES, 2, least=1)
            }
        return makers

    def _array(self, depth: int, *, plain: bool) -> dict[str, Callable[[], Json]]:
        def child() -> Json:
            return self.schema(depth - 1, plain=plain)

        def children() -> Json:
            return [child() for _ in range(self._random.randint(1, 2))]

        makers: dict[str, Callable[[], Json]] = {
            "minItems": self._count,
            "maxItems": self._count,
            "uniqueItems": lambda: True,
            "items": lambda: child() if self._likely(0.5) else children(),
            "additionalItems": lambda: self._one([False, child()]),
        }
        if self._draft == "2020-12":
            del makers["additionalItems"]
            makers |= {"prefixItems": children, "items": child}
        if self._draft != "draft-04":
            makers["contains"] = lambda: self.schema(depth - 1, plain=True)
        if self._modern:
            makers |= {"minContains": self._count, "maxContains": self._count}
            makers["unevaluatedItems"] = lambda: self._one([False, child()])
        return makers

    def _mixed(self, depth: int, *, plain: bool) -> dict[str, Callable[[], Json]]:
        def child() -> Json:
            return self.schema(depth - 1, plain=plain)

        def children() -> Json:
            return [child() for _ in range(self._random.randint(1, 3))]

        makers: dict[str, Callable[[], Json]] = {
            "not": child,
            "allOf": children,
            "anyOf": children,
            "properties": lambda: {"a": child()},
        }
        if not plain:
            makers["oneOf"] = children
        if self._draft != "draft-04":
            makers["const"] = lambda: self._one(["a", 1])
            makers["if"] = lambda: self.schema(depth - 1, plain=True)
            makers |= {"then": child, "else": child}
        if self._modern:
            makers["unevaluatedProperties"] = lambda: False
        return makers

    def document(self, schema: Json, depth: int = 3) -> Json:
        """Return a value that has a chance to fit `schema`."""
        if depth < 0 or not isinstance(schema, dict) or self._likely(0.1):
            return self._any(min(depth, 1))
        if "$ref" in schema:
            return self.document(DEFINITIONS[schema["$ref"].split("/")[-1]], depth - 1)
        if "enum" in schema or "const" in schema:
            return self._one(schema.get("enum") or [schema["const"]])
        members = [one for word in ("allOf", "anyOf", "oneOf") for one in schema.get(word, [])]
        if members:
            return self.document(self._one(members), depth)
        return self._of_kind(kind_of(schema), schema, depth)

    def _of_kind(self, kind: str, schema: Json, depth: int) -> Json:
        match kind:
            case "string":
                return self._one(STRINGS)
            case "number" | "integer":
                return self._one(NUMBERS)
            case "object":
                return self._an_object(schema, depth)
            case "array":
                return self._an_array(schema, depth)
            case _:
                return None if kind == "null" else self._any(1)

    def _an_object(self, schema: Json, depth: int) -> Json:
        value: Json = {}
        for name, child in schema.get("properties", {}).items():
            if name in schema.get("required", ()) or self._likely(0.5):
                value[name] = self.document(child, depth - 1)
        for pattern, child in schema.get("patternProperties", {}).items():
            for name in ("S_x", "I_x", "a", "ba"):
                if re.search(pattern, name) and self._likely(0.5):
                    value.setdefault(name, self.document(child, depth - 1))
        others = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        if others is not False:
            for name in [*schema.get("required", ()), *self._some([*NAMES, "zz"], 2)]:
                value.setdefault(name, self.document(others, depth - 1))
        return value

    def _an_array(self, schema: Json, depth: int) -> Json:
        items = schema.get("items", True)
        first = schema.get("prefixItems") or (items if isinstance(items, list) else [])
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        count = self._random.randint(0, 3)
        value = [self.document(child, depth - 1) for child in first[:count]]
        if rest is not False:
            value += [self.document(rest, depth - 1) for _ in range(count - len(value))]
        if "contains" in schema and self._likely(0.8):
            value.append(self.document(schema["contains"], depth - 1))
        return value

    def _any(self, depth: int) -> Json:
        if depth <= 0 or self._likely(0.4):
            return self._one(VALUES)
        if self._likely(0.6):
            return {name: self._any(depth - 1) for name in self._some([*NAMES, "zz"], 3)}
        return [self._any(depth - 1) for _ in range(self._random.randint(0, 3))]

    def _count(self) -> int:
        return self._random.randint(0, 3)

    def _one(self, choices: list[Json]) -> Json:
        return self._random.choice(choices)

    def _some(self, choices: list[Json], most: int, *, least: int = 0) -> list[Json]:
        return self._random.sample(choices, self._random.randint(least, min(most, len(choices))))

    def _likely(self, chance: float) -> bool:
        return self._random.random() < chance


def subschemas(schema: Json) -> Iterator[Json]:
    """Yield `schema` and the schemas in it that are objects."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name, value in schema.items():
        if name in ("properties", "patternProperties", "dependentSchemas", "dependencies"):
            for child in value.values():
                yield from subschemas(child)
        elif name not in ("enum", "const", "default", "dependentRequired", "if", "contains"):
            for child in value if isinstance(value, list) else [value]:
                yield from subschemas(child)


def kind_of(schema: Json) -> str:
    """Return the type that the keywords of `schema` are about."""
    named = schema.get("type")
    if named is not None:
        return str(named[0] if isinstance(named, list) else named)
    if any(word in schema for word in ("allOf", "anyOf", "oneOf", "not", "if", "const")):
        return "mixed"
    for kind, signs in (
        ("object", "properties required depend"),
        ("array", "items contains"),
        ("string", "length pattern"),
        ("number", "minimum maximum multipleof"),
    ):
        if any(sign in word.lower() for word in schema for sign in signs.split()):
            return kind
    return "choice"


def relaxed(schema: Json, *, wider: bool) -> Json:
    """Return `schema` without what Confluent's rules overlook on purpose.

    Where it is to be wider, `oneOf` becomes `anyOf`, and a required property with a default is not
    required. Under `not` a schema is wider when the one in it is narrower.
    """
    if isinstance(schema, list):
        return [relaxed(one, wider=wider) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: _relaxed(name, value, wider=wider) for name, value in schema.items()}
    if wider and "oneOf" in result:
        result["allOf"] = [*result.get("allOf", ()), {"anyOf": result.pop("oneOf")}]
    if wider and "required" in result:
        named = result.get("properties", {})
        needed = [name for name in result.pop("required") if "default" not in named.get(name, ())]
        result |= {"required": needed} if needed else {}
    return result


def _relaxed(name: str, value: Json, *, wider: bool) -> Json:
    if name in ("enum", "const", "default", "required", "if", "contains", "dependentRequired"):
        return value
    if name in ("properties", "patternProperties", "dependentSchemas", "dependencies"):
        return {
            key: child if name == "dependencies" and isinstance(child, list)
            else relaxed(child, wider=wider)
            for key, child in value.items()
        }  # fmt: skip
    return relaxed(value, wider=wider is not (name == "not"))
