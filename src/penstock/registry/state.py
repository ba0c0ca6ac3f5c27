"""The registry's state: all that its log says, in indices that answer at once.

One thread folds records in; any thread reads. Schemas are not parsed here, so that a log of any
length loads as fast as its JSON does.
"""

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from penstock.names import Subject
from penstock.registry.contexts import (
    DEFAULT_CONTEXT,
    QualifiedName,
    beside,
    context_of,
    qualified,
)
from penstock.registry.entries import Config, Content, Mode, SchemaVersion
from penstock.registry.guids import guid_of
from penstock.registry.log import Record
from penstock.registry.records import (
    Change,
    ConfigSet,
    ContextSet,
    IdsGiven,
    ModeSet,
    SchemaGone,
    SubjectDeleted,
    SubjectsCleared,
    UnreadableRecordError,
    decode,
)

logger = logging.getLogger(__name__)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Which(StrEnum):
    """Which versions count."""

    LIVE = "those not deleted"
    ALL = "deleted ones too"
    DELETED = "deleted ones only"

    def includes(self, version: SchemaVersion) -> bool:
        """Whether `version` counts."""
        return self is Which.ALL or version.deleted is (self is Which.DELETED)


@dataclass(slots=True)
class _ContextIndex:
    """The ids of one context."""

    holders: dict[int, tuple[tuple[Subject, int], ...]] = field(default_factory=dict)
    """Which versions have an id, deleted ones too; in the order they came."""
    ids: dict[Content, tuple[int, ...]] = field(default_factory=dict)
    """Several only when they were imported."""
    guids: dict[str, int] | None = None
    """Made when first asked for: a hash of every text is not worth waiting for at the start."""
    max_id: int = 0
    """Of all ids ever folded: one that was given is not given again."""


class RegistryState:
    """What the log says, folded."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._versions: dict[Subject, dict[int, SchemaVersion]] = {}
        self._indices: dict[str, _ContextIndex] = {}
        self._contexts: set[str] = set()
        self._configs: dict[Subject | None, Config] = {}
        self._modes: dict[Subject | None, Mode] = {}
        self._referrers: dict[tuple[Subject, int], set[tuple[Subject, int]]] = {}
        self._offset = -1

    @property
    def offset(self) -> int:
        """The offset of the last record that was folded, -1 before the first."""
        return self._offset

    def apply(self, record: Record, offset: int) -> None:
        """Fold one record; to be called in the order of the log, by one thread.

        A record that cannot be read is left alone: it may be of a newer registry, and what it
        says cannot be asked for here.
        """
        try:
            change = decode(record)
        except UnreadableRecordError:
            logger.warning("unreadable record among the schemas", extra={"offset": offset})
            change = None
        with self._lock:
            if change is not None:
                self._fold(change)
            self._offset = offset

    def _fold(self, change: Change) -> None:
        match change:
            case SchemaVersion():
                self._put(change)
            case SchemaGone(subject=subject, version=number):
                self._remove(subject, number)
            case SubjectDeleted(subject=subject, version=until):
                for version in self.versions(subject, Which.LIVE):
                    if version.version <= until:
                        self._put(replace(version, deleted=True))
            case SubjectsCleared(subject=subject):
                for version in list(self._matching(subject, Which.DELETED)):
                    self._remove(version.subject, version.version)
            case ConfigSet(subject=subject, config=config):
                _set_or_drop(self._configs, subject, config)
            case ModeSet(subject=subject, mode=mode):
                _set_or_drop(self._modes, subject, mode)
            case ContextSet(context=context, exists=True):
                self._contexts.add(context)
            case ContextSet(context=context):
                self._contexts.discard(context)
            case IdsGiven(highest=highest):
                for context, number in highest:
                    index = self._indices.setdefault(context, _ContextIndex())
                    index.max_id = max(index.max_id, number)

    def _put(self, version: SchemaVersion) -> None:
        self._remove(version.subject, version.version)
        self._versions.setdefault(version.subject, {})[version.version] = version
        key = (version.subject, version.version)
        index = self._indices.setdefault(context_of(version.subject), _ContextIndex())
        index.holders[version.id] = (*index.holders.get(version.id, ()), key)
        index.max_id = max(index.max_id, version.id)
        ids = index.ids.get(version.content, ())
        if version.id not in ids:
            index.ids[version.content] = (*ids, version.id)
            if index.guids is not None:
                index.guids[guid_of(version.content)] = version.id
        if not version.deleted:
            for target in _targets(version):
                self._referrers.setdefault(target, set()).add(key)

    def _remove(self, subject: Subject, number: int) -> None:
        versions = self._versions.get(subject, {})
        version = versions.pop(number, None)
        if version is None:
            return
        if not versions:
            del self._versions[subject]
        self._forget_id(version)
        for target in _targets(version):
            self._referrers.get(target, set()).discard((subject, number))

    def _forget_id(self, version: SchemaVersion) -> None:
        index = self._indices[context_of(version.subject)]
        gone = (version.subject, version.version)
        holders = tuple(key for key in index.holders[version.id] if key != gone)
        _set_or_drop(index.holders, version.id, holders or None)
        if holders:
            return
        ids = tuple(id_ for id_ in index.ids[version.content] if id_ != version.id)
        _set_or_drop(index.ids, version.content, ids or None)
        index.guids = None

    def version(self, subject: Subject, number: int) -> SchemaVersion | None:
        """Return a version of a subject, deleted or not."""
        with self._lock:
            return self._versions.get(subject, {}).get(number)

    def versions(self, subject: Subject, which: Which) -> list[SchemaVersion]:
        """Return the versions of a subject, oldest first."""
        with self._lock:
            versions = sorted(self._versions.get(subject, {}).items())
        return [version for _, version in versions if which.includes(version)]

    def latest(self, subject: Subject) -> SchemaVersion | None:
        """Return the last version that is not deleted."""
        versions = self.versions(subject, Which.LIVE)
        return versions[-1] if versions else None

    def _matching(self, subject: Subject | None, which: Which) -> Iterator[SchemaVersion]:
        """Yield the versions of a subject, of all in a context (`:.ctx:`), or (None) of all."""
        for each in self._meant(subject):
            versions = self._versions.get(each, {})
            yield from (version for version in versions.values() if which.includes(version))

    def _meant(self, subject: Subject | None) -> list[Subject]:
        if subject is None:
            return list(self._versions)
        name = qualified(subject)
        if name.name:
            return [subject]
        return [each for each in self._versions if context_of(each) == name.context]

    def has_versions(self, subject: Subject | None, which: Which) -> bool:
        """Whether a subject, a context (`:.ctx:`) or (None) anything has versions."""
        return bool(self.matching(subject, which))

    def matching(self, subject: Subject | None, which: Which) -> list[SchemaVersion]:
        """Return the versions of a subject, of a context (`:.ctx:`), or (None) all of them."""
        with self._lock:
            return list(self._matching(subject, which))

    def subjects(self, prefix: QualifiedName, which: Which) -> list[Subject]:
        """Return the subjects that begin with `prefix`; its context may be `*`.

        A subject is deleted when all its versions are.
        """
        with self._lock:
            found = [
                subject
                for subject, versions in self._versions.items()
                if _begins(subject, prefix) and _counts(versions, which)
            ]
        return sorted(found)

    def holders(self, context: str, schema_id: int) -> list[SchemaVersion]:
        """Return the versions that have an id, deleted ones too."""
        with self._lock:
            index = self._indices.get(context)
            keys = index.holders.get(schema_id, ()) if index else ()
            return [self._versions[subject][number] for subject, number in keys]

    def id_of(self, context: str, content: Content) -> int | None:
        """Return the id that a schema has in a context, the last one if it has several."""
        with self._lock:
            index = self._indices.get(context)
            ids = index.ids.get(content) if index else None
        return ids[-1] if ids else None

    def id_by_guid(self, context: str, guid: str) -> int | None:
        """Return the id that the schema with this guid has in a context."""
        with self._lock:
            index = self._indices.get(context)
            if index is None:
                return None
            if index.guids is None:
                index.guids = {guid_of(content): ids[-1] for content, ids in index.ids.items()}
            return index.guids.get(guid)

    def max_id(self, context: str) -> int:
        """Return the highest id that was ever given in a context, 0 before the first."""
        with self._lock:
            index = self._indices.get(context)
            return index.max_id if index else 0

    def ids_given(self) -> IdsGiven:
        """Return the highest id of every context."""
        with self._lock:
            highest = tuple((context, index.max_id) for context, index in self._indices.items())
        return IdsGiven(highest=highest)

    def referrers(self, subject: Subject, number: int) -> list[int]:
        """Return the ids of the schemas, not deleted, that refer to a version."""
        with self._lock:
            keys = self._referrers.get((subject, number), set())
            return sorted({self._versions[each][version].id for each, version in keys})

    def config(self, subject: Subject | None) -> Config | None:
        """Return the config that a subject, a context or (None) everything has of its own."""
        with self._lock:
            return self._configs.get(subject)

    def mode(self, subject: Subject | None) -> Mode | None:
        """Return the mode that a subject, a context or (None) everything has of its own."""
        with self._lock:
            return self._modes.get(subject)

    def subjects_with_mode(self, context: str) -> list[Subject]:
        """Return the subjects of a context that have modes of their own."""
        with self._lock:
            subjects = [subject for subject in self._modes if subject is not None]
        return [each for each in subjects if context_of(each) == context and qualified(each).name]

    def has_context(self, context: str) -> bool:
        """Whether the log says that this context exists."""
        with self._lock:
            return context in self._contexts

    def contexts(self) -> list[str]:
        """Return all contexts, the default one first."""
        with self._lock:
            used = {context for context, index in self._indices.items() if index.holders}
            return [DEFAULT_CONTEXT, *sorted((used | self._contexts) - {DEFAULT_CONTEXT})]


def _set_or_drop(entries: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
    if value is None:
        entries.pop(key, None)
    else:
        entries[key] = value


def _targets(version: SchemaVersion) -> list[tuple[Subject, int]]:
    return [
        (beside(version.subject, reference.subject), reference.version)
        for reference in version.content.references
    ]


def _begins(subject: Subject, prefix: QualifiedName) -> bool:
    name = qualified(subject)
    return prefix.context in ("*", name.context) and name.name.startswith(prefix.name)


def _counts(versions: dict[int, SchemaVersion], which: Which) -> bool:
    deleted = all(version.deleted for version in versions.values())
    return which is Which.ALL or deleted is (which is Which.DELETED)
