"""What changed between two schemas of one type, as a list that people read.

Avro schemas are compared by their meaning (`avro/changes.py`), JSON Schemas as JSON values, and
Protobuf schemas declaration by declaration. Whether a change breaks readers or writers is another
question: `compatibility.py`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from penstock.schemas.changes import Change, added, changed, removed, shown
from penstock.schemas.json_text import dump_json, load_json
from penstock.schemas.schema import Schema, SchemaType

if TYPE_CHECKING:
    from penstock.schemas.avro import AvroSchema

_NUMBER = re.compile(r"= (\d+)")
"""Of a field or a value of an enum: what tells that a declaration is the same one, changed."""


def differences(old: Schema, new: Schema) -> list[Change]:
    """Return what is different in `new`: empty if both say the same.

    Whitespace, the order of keys and the way names are written do not count.
    """
    if old.type is not new.type:
        return [changed("/", f"the type of the schema, {old.type}, became {new.type}")]
    match old.type:
        case SchemaType.AVRO:
            return _avro_changes(old, new)
        case SchemaType.JSON:
            before, after = load_json(old.canonical()), load_json(new.canonical())
            return list(_json_changes(before, after, ""))
        case SchemaType.PROTOBUF:
            return list(_declaration_changes(old.canonical(), new.canonical()))


def _avro_changes(old: Schema, new: Schema) -> list[Change]:
    from penstock.schemas.avro.changes import changes_between

    before, after = cast("AvroSchema", old), cast("AvroSchema", new)
    return changes_between(before.graph, after.graph)


def _json_changes(old: object, new: object, path: str) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _member_changes(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        if any(isinstance(item, dict | list) for item in (*old, *new)):
            yield from _member_changes(_numbered(old), _numbered(new), path)
        else:
            yield from _item_changes(old, new, path)
    elif dump_json(old) != dump_json(new):
        yield changed(path or "/", f"{shown(old)} became {shown(new)}")


def _member_changes(
    old: Mapping[str, object], new: Mapping[str, object], path: str
) -> Iterator[Change]:
    for key in [*old, *(key for key in new if key not in old)]:
        here = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in new:
            yield removed(here, shown(old[key]))
        elif key not in old:
            yield added(here, shown(new[key]))
        else:
            yield from _json_changes(old[key], new[key], here)


def _numbered(items: Sequence[object]) -> Mapping[str, object]:
    return {str(number): item for number, item in enumerate(items)}


def _item_changes(old: Sequence[object], new: Sequence[object], path: str) -> Iterator[Change]:
    """Yield changes of a list of plain values, such as `required` or `enum`: a set in effect."""
    before, after = Counter(map(dump_json, old)), Counter(map(dump_json, new))
    for item in before - after:
        yield removed(path or "/", item)
    for item in after - before:
        yield added(path or "/", item)


def _declaration_changes(old: str, new: str) -> Iterator[Change]:
    # Dictionaries for their order: a printed schema says nothing twice in one block.
    before, after = dict.fromkeys(_declarations(old)), dict.fromkeys(_declarations(new))
    gone = [one for one in before if one not in after]
    come = {_identity(*one): one for one in after if one not in before}
    for block, declaration in gone:
        instead = come.pop(_identity(block, declaration), None)
        if instead is None:
            yield removed(block, f"`{declaration}`")
        else:
            yield changed(block, f"`{declaration}` became `{instead[1]}`")
    for block, declaration in come.values():
        yield added(block, f"`{declaration}`")


def _declarations(text: str) -> Iterator[tuple[str, str]]:
    """Yield each declaration of a printed Protobuf schema after the block that it is in."""
    blocks: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line in ("}", "};"):
            blocks.pop()
        elif line:
            declaration = line.rstrip("{;").rstrip()
            yield ".".join(blocks) or "/", declaration
            if line.endswith("{"):
                blocks.append(declaration.rpartition(" ")[2])


def _identity(block: str, declaration: str) -> tuple[str, str]:
    number = _NUMBER.search(declaration)
    return block, declaration if number is None else number[1]
