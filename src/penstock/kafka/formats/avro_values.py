"""Avro's values and JSON's: what a JSON value means to a schema, and how a value is shown.

Input is plain JSON. A union takes the value of any of its branches as it is, or tagged with the
branch's name as Avro's own JSON encoding has it (`{"string": "ann"}`). Dates, times, decimals and
UUIDs are texts as people write them; bytes are texts with a character for each byte.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from penstock.kafka.formats.errors import UnfitRecordError
from penstock.kafka.formats.fields import below, mismatch, shown, unknown_field
from penstock.names import nearest
from penstock.schemas.schema import in_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.schemas import Schema

# A node of a schema as fastavro parses it: a name, a list of branches, or an object.
Node = Any
Moment = TypeVar("Moment")

_NAMED = ("record", "error", "enum", "fixed")
_WHOLE = {"int": 2**31, "long": 2**63}
_NOT_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class AvroValues:
    """Turns JSON values into what fastavro writes with one schema."""

    def __init__(self, schema: Schema) -> None:
        from fastavro import parse_schema

        self._named: dict[str, Node] = {}
        for reference in in_order(schema.references):
            parse_schema(json.loads(reference.text), named_schemas=self._named)
        self._root: Node = parse_schema(json.loads(schema.text), named_schemas=self._named)

    @property
    def are_bytes(self) -> bool:
        """Whether the values are nothing but bytes, of any logical type."""
        return isinstance(self._root, dict) and self._root["type"] == "bytes"

    def value_of(self, document: object) -> object:
        """Return the value that `document` stands for.

        Raises:
            UnfitRecordError: the schema has no such value; names the field.
        """
        return self._value(self._root, document, "", logical=True)

    def _value(self, node: Node, found: object, path: str, *, logical: bool) -> object:
        node = self._named.get(node, node) if isinstance(node, str) else node
        if isinstance(node, list):
            return self._of_union(node, found, path, logical=logical)
        kind = node["type"] if isinstance(node, dict) else node
        if isinstance(kind, dict | list):
            return self._value(kind, found, path, logical=logical)
        if logical and isinstance(node, dict) and "logicalType" in node:
            convert = _LOGICAL.get((kind, node["logicalType"]))
            if convert is not None and not isinstance(found, bool):
                return convert(node, found, path)
        match kind:
            case "record" | "error":
                fields = _expect(dict, found, kind, path)
                return self._of_record(node, fields, path, logical=logical)
            case "array":
                items = _expect(list, found, kind, path)
                return [
                    self._value(node["items"], item, f"{path}/{index}", logical=logical)
                    for index, item in enumerate(items)
                ]
            case "map":
                entries = _expect(dict, found, kind, path)
                return {
                    key: self._value(node["values"], item, below(path, key), logical=logical)
                    for key, item in entries.items()
                }
            case _:
                return _primitive(node, kind, found, path)

    def _of_record(
        self, node: Node, found: dict[str, object], path: str, *, logical: bool
    ) -> dict[str, object]:
        fields = {field["name"]: field for field in node["fields"]}
        for name in found:
            if name not in fields:
                raise unknown_field(name, fields, node["name"], path)
        return {
            name: self._of_field(node, field, found, path, logical=logical)
            for name, field in fields.items()
        }

    def _of_field(
        self, node: Node, field: Node, found: dict[str, object], path: str, *, logical: bool
    ) -> object:
        place = below(path, field["name"])
        if field["name"] in found:
            return self._value(field["type"], found[field["name"]], place, logical=logical)
        if "default" not in field:
            reason = f"is missing, and `{node['name']}` has no default for it"
            raise UnfitRecordError(place, reason)
        # A default is written as the plain type has it, whatever the logical type.
        return self._value(field["type"], field["default"], place, logical=False)

    def _of_union(self, branches: Node, found: object, path: str, *, logical: bool) -> object:
        """Return the value of a branch, with its name: fastavro then need not guess."""
        problems: list[UnfitRecordError] = []
        for name, branch, value, place in self._readings(branches, found, path):
            try:
                return name, self._value(branch, value, place, logical=logical)
            except UnfitRecordError as err:
                problems.append(err)
        raise _told(problems, [self._name(branch) for branch in branches], found, path)

    def _readings(
        self, branches: Node, found: object, path: str
    ) -> list[tuple[str, Node, object, str]]:
        """Return each way to understand a value of a union: tagged with a branch, then plain."""
        named = [(self._name(branch), branch) for branch in branches]
        plain = [(name, branch, found, path) for name, branch in named]
        if not isinstance(found, dict) or len(found) != 1:
            return plain
        ((tag, inner),) = found.items()
        tagged = [(name, branch, inner, below(path, tag)) for name, branch in named if name == tag]
        return [*tagged, *plain]

    def _name(self, node: Node) -> str:
        """Return what Avro calls a branch: its full name, or its type."""
        node = self._named.get(node, node) if isinstance(node, str) else node
        if isinstance(node, dict):
            return str(node["name"] if node["type"] in _NAMED else node["type"])
        return str(node)


def readable(value: object) -> object:
    """Return a value that was read with Avro as JSON for people: the inverse of `value_of`."""
    match value:
        case dict():
            return {key: readable(item) for key, item in value.items()}
        case list():
            return [readable(item) for item in value]
        case bytes():
            return value.decode("latin-1")
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case float() if not math.isfinite(value):
            return next(name for name, item in _NOT_NUMBERS.items() if str(item) == str(value))
        case _:
            return value


def _told(
    problems: list[UnfitRecordError], names: list[str], found: object, path: str
) -> UnfitRecordError:
    """Return the problem that is most likely the user's.

    One inside a branch tells more than that the union as a whole does not fit, and of a type
    that may be null, the type is what was meant.
    """
    inside = [problem for problem in problems if problem.path != path]
    if inside:
        return max(inside, key=lambda problem: problem.path.count("/"))
    others = [item for item, name in zip(problems, names, strict=False) if name != "null"]
    if len(names) == 2 and "null" in names and len(others) == 1:
        return others[0]
    return UnfitRecordError(path, f"is {shown(found)}, not one of {', '.join(names)}")


def _expect(kind: type, found: object, wanted: str, path: str) -> Any:  # noqa: ANN401 - of `kind`
    if not isinstance(found, kind):
        raise mismatch(found, f"a value of type {wanted}", path)
    return found


def _primitive(node: Node, kind: str, found: object, path: str) -> object:
    match kind:
        case "null" if found is None:
            return None
        case "boolean" if isinstance(found, bool):
            return found
        case "int" | "long" if isinstance(found, int) and not isinstance(found, bool):
            if not -_WHOLE[kind] <= found < _WHOLE[kind]:
                raise UnfitRecordError(path, f"is {found}, which does not fit into type {kind}")
            return found
        case "float" | "double" if isinstance(found, int | float) and not isinstance(found, bool):
            return _floating(found, kind, path)
        case "float" | "double" if isinstance(found, str) and found in _NOT_NUMBERS:
            return _NOT_NUMBERS[found]
        case "string" if isinstance(found, str):
            return found
        case "enum" if isinstance(found, str):
            return _symbol(node, found, path)
        case "bytes" | "fixed" if isinstance(found, str):
            return _bytes(node, kind, found, path)
    raise mismatch(found, f"a value of type {kind}", path)


def _floating(found: float, kind: str, path: str) -> float:
    largest = 3.4028234663852886e38 if kind == "float" else 1.7976931348623157e308
    if abs(found) > largest:
        raise UnfitRecordError(path, f"is {found}, which does not fit into type {kind}")
    return float(found)


def _symbol(node: Node, found: str, path: str) -> str:
    if found in node["symbols"]:
        return found
    close = nearest(found, node["symbols"])
    listed = ", ".join(node["symbols"][:10]) + (", …" if len(node["symbols"]) > 10 else "")
    advice = f"did you mean `{close}`?" if close else None
    reason = f"is {shown(found)}, not a symbol of `{node['name']}`: {listed}"
    raise UnfitRecordError(path, reason, advice=advice)


def _bytes(node: Node, kind: str, found: str, path: str) -> bytes:
    try:
        data = found.encode("latin-1")
    except UnicodeEncodeError:
        reason = "is a text with characters above U+00FF, and each stands for a byte"
        raise UnfitRecordError(path, reason) from None
    if kind == "fixed" and len(data) != node["size"]:
        reason = f"has {len(data)} bytes, and `{node['name']}` has {node['size']}"
        raise UnfitRecordError(path, reason)
    return data


def _decimal(node: Node, found: object, path: str) -> Decimal:
    precision, scale = node["precision"], node.get("scale", 0)
    try:
        # The text of a float is the number that was written.
        number = Decimal(str(found)) if isinstance(found, str | int | float) else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise mismatch(found, "a decimal number", path)
    exponent = number.as_tuple().exponent
    whole_digits = max(number.adjusted() + 1, 0) if number else 0
    if (isinstance(exponent, int) and -exponent > scale) or whole_digits > precision - scale:
        reason = f"is {found}, which does not fit into a decimal of {precision} digits, {scale} of "
        raise UnfitRecordError(path, f"{reason}them after the point")
    return number


def _date(node: Node, found: object, path: str) -> object:
    return _moment(node, found, path, "a date such as 2026-05-01", date.fromisoformat)


def _time(node: Node, found: object, path: str) -> object:
    return _moment(node, found, path, "a time such as 12:30:00", time.fromisoformat)


def _timestamp(node: Node, found: object, path: str) -> object:
    wanted = "a moment such as 2026-05-01T12:30:00Z"
    moment = _moment(node, found, path, wanted, datetime.fromisoformat)
    if isinstance(moment, datetime) and moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment


def _local_timestamp(node: Node, found: object, path: str) -> object:
    wanted = "a moment such as 2026-05-01T12:30:00"
    moment = _moment(node, found, path, wanted, datetime.fromisoformat)
    if isinstance(moment, datetime) and moment.tzinfo:
        raise UnfitRecordError(path, f"is {shown(found)}, and a local time has no offset")
    return moment


def _moment(
    node: Node, found: object, path: str, wanted: str, parse: Callable[[str], Moment]
) -> Moment | object:
    """Return what a text says, or the number as Avro stores it."""
    if isinstance(found, int):
        return _primitive(node, node["type"], found, path)
    try:
        if isinstance(found, str):
            return parse(found)
    except ValueError:
        pass
    raise mismatch(found, wanted, path)


def _uuid(_: Node, found: object, path: str) -> str:
    try:
        if isinstance(found, str):
            return str(UUID(found))
    except ValueError:
        pass
    raise mismatch(found, "a UUID", path)


_LOGICAL: dict[tuple[str, str], Callable[[Node, object, str], object]] = {
    ("bytes", "decimal"): _decimal,
    ("fixed", "decimal"): _decimal,
    ("int", "date"): _date,
    ("int", "time-millis"): _time,
    ("long", "time-micros"): _time,
    ("long", "timestamp-millis"): _timestamp,
    ("long", "timestamp-micros"): _timestamp,
    ("long", "local-timestamp-millis"): _local_timestamp,
    ("long", "local-timestamp-micros"): _local_timestamp,
    ("string", "uuid"): _uuid,
}
