"""A change between two schemas, as people read it."""

from dataclasses import dataclass
from enum import StrEnum

from penstock.schemas.json_text import dump_json

_MAX_SHOWN = 100


class ChangeKind(StrEnum):
    """What became of a part of a schema."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two schemas.

    `path` says where, in the words of the schema's type: `Customer.address.zip` for Avro, a JSON
    pointer for JSON Schema, the message for Protobuf.
    """

    kind: ChangeKind
    path: str
    message: str

    def __str__(self) -> str:
        """Return one line, with the sign that a list of differences begins with."""
        sign = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.CHANGED: "~"}[self.kind]
        return f"{sign} {self.path}: {self.message}"


def added(path: str, message: str) -> Change:
    """Return the change for something new at `path`."""
    return Change(kind=ChangeKind.ADDED, path=path, message=message)


def removed(path: str, message: str) -> Change:
    """Return the change for something gone from `path`."""
    return Change(kind=ChangeKind.REMOVED, path=path, message=message)


def changed(path: str, message: str) -> Change:
    """Return the change for something other than before at `path`."""
    return Change(kind=ChangeKind.CHANGED, path=path, message=message)


def shown(value: object) -> str:
    """Return a JSON value short enough for a line."""
    return cut(dump_json(value))


def cut(text: str) -> str:
    """Return a text short enough for a line."""
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
