"""From what is stored to a parsed schema: its references are found, and results are kept.

Parsing takes up to a second, so that callers do it in a thread and, where they can, outside the
lock of the writes.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from penstock.names import Subject
from penstock.registry.contexts import beside
from penstock.registry.entries import Content, SchemaVersion
from penstock.registry.errors import RejectedSchemaError
from penstock.registry.state import RegistryState
from penstock.schemas import (
    MAX_REFERENCES,
    InvalidSchemaError,
    Reference,
    Resolved,
    Schema,
    SchemaType,
    parse,
)

LATEST = -1
"""As the version of a reference: the last one."""

MAX_KEPT = 500
"""Parsed schemas that are kept: more than a busy registry compares within minutes."""

MAX_DEPTH = 100
"""Of references: no chain of real schemas comes near, and none can exhaust the stack."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What a parsed schema depends on: texts, not versions, which may come again after a delete."""

    type: SchemaType
    text: str
    references: tuple[tuple[str, str, int], ...]
    stored: bool


class Parsing:
    """Parses schemas of the registry."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._kept: OrderedDict[_Key, Schema] = OrderedDict()
        self._lock = Lock()

    def pinned(self, subject: Subject, content: Content) -> Content:
        """Return `content` with the versions that its references to `latest` stand for."""
        references = tuple(
            replace(one, version=self._target(subject, one).version)
            if one.version == LATEST
            else one
            for one in content.references
        )
        return replace(content, references=references)

    def parsed(self, subject: Subject, content: Content, *, stored: bool) -> Schema:
        """Return the schema.

        Args:
            subject: Under which it is, or shall be: its references mean the same context.
            content: What to parse.
            stored: Whether it is in the log already. Other registries have let in what a new
                schema must not have; that must not keep a subject from going on.

        Raises:
            RejectedSchemaError: it is not one, its type is unknown, or a reference leads nowhere.
        """
        try:
            kind = SchemaType(content.type)
        except ValueError as error:
            raise RejectedSchemaError(reason=f"Invalid schema type {content.type}") from error
        references = _Resolving(self._state).resolved(subject, content.references)
        key = _Key(kind, content.text, tuple(_flat(references)), stored)
        try:
            return self._kept_or_parsed(key, references)
        except InvalidSchemaError as error:
            raise RejectedSchemaError(
                reason=f"Invalid schema of type {kind}, details: {error.message}"
            ) from error

    def _kept_or_parsed(self, key: _Key, references: Sequence[Resolved]) -> Schema:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
        schema = parse(key.type, key.text, references, stored=key.stored)
        with self._lock:
            self._kept[key] = schema
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return schema

    def _target(self, subject: Subject, reference: Reference) -> SchemaVersion:
        return _target(self._state, subject, reference)


class _Resolving:
    """Finds what the references of one schema stand for, each version once."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._found: dict[tuple[Subject, int], Resolved] = {}
        self._open: list[tuple[Subject, int]] = []

    def resolved(self, subject: Subject, references: Sequence[Reference]) -> tuple[Resolved, ...]:
        return tuple(self._one(subject, reference) for reference in references)

    def _one(self, subject: Subject, reference: Reference) -> Resolved:
        target = _target(self._state, subject, reference)
        key = (target.subject, target.version)
        if key in self._open:
            raise RejectedSchemaError(reason=f"reference '{reference.name}' leads back to itself")
        if key not in self._found:
            self._check_size(reference)
            self._open.append(key)
            below = self.resolved(target.subject, target.content.references)
            self._open.pop()
            self._found[key] = Resolved(
                name=reference.name, text=target.content.text, references=below
            )
        return replace(self._found[key], name=reference.name)

    def _check_size(self, reference: Reference) -> None:
        if len(self._open) >= MAX_DEPTH or len(self._found) >= MAX_REFERENCES:
            raise RejectedSchemaError(
                reason=f"reference '{reference.name}' is one too many: at most {MAX_DEPTH} on "
                f"top of each other and {MAX_REFERENCES} in all"
            )


def _target(state: RegistryState, subject: Subject, reference: Reference) -> SchemaVersion:
    other = beside(subject, reference.subject)
    latest = reference.version == LATEST
    found = state.latest(other) if latest else state.version(other, reference.version)
    if found is None:
        raise RejectedSchemaError(
            reason=f"No schema found for reference '{reference.name}': "
            f"subject '{other}' version {reference.version}"
        )
    return found


def _flat(references: Sequence[Resolved]) -> Iterator[tuple[str, str, int]]:
    """Yield each reference below once, with what tells it from others."""
    seen: set[int] = set()
    waiting = list(references)
    while waiting:
        reference = waiting.pop()
        marker = id(reference)
        if marker not in seen:
            seen.add(marker)
            yield reference.name, reference.text, len(reference.references)
            waiting.extend(reference.references)
