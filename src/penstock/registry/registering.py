"""Registering schemas: a new version of a subject, with an id that the context knows it by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.names import Subject
from penstock.registry.compatibility import Compatibility
from penstock.registry.contexts import DEFAULT_CONTEXT, context_of, is_valid_subject
from penstock.registry.entries import Content, Mode, SchemaVersion
from penstock.registry.errors import (
    IdDoesNotMatchError,
    IncompatibleSchemaError,
    InvalidSubjectError,
    NotPermittedError,
    RejectedSchemaError,
    StoreError,
)
from penstock.registry.parsing import LATEST
from penstock.registry.populating import matching, numbered, populated, populates
from penstock.registry.reading import Reading
from penstock.registry.records import Change, ContextSet, SchemaGone
from penstock.registry.scopes import Scopes
from penstock.registry.state import RegistryState, Which
from penstock.registry.writing import Writing

MAX_ID = 2**31 - 1
"""Ids are written in four bytes before each record, as a signed number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a client asks to register."""

    subject: Subject
    content: Content
    """With an empty text, the schema of the last version: to change its metadata or rules."""
    id: int | None = None
    """Only in import mode, where another registry has given it."""
    version: int | None = None
    """The one it shall get, `LATEST` if it is not the last one already; None is any."""
    normalize: bool = False


class Registering:
    """Gives versions and ids."""

    def __init__(
        self,
        state: RegistryState,
        writing: Writing,
        scopes: Scopes,
        reading: Reading,
        compatibility: Compatibility,
    ) -> None:
        self._state = state
        self._writing = writing
        self._scopes = scopes
        self._reading = reading
        self._compatibility = compatibility

    def register(self, asked: Registration) -> SchemaVersion:
        """Return the version that a schema has under a subject, making one when there is none.

        Raises:
            InvalidSubjectError: nothing can be registered under this name.
            RejectedSchemaError: this is not a schema, or not the next version.
            NotPermittedError: the mode forbids it, or the id is another schema's.
            IdDoesNotMatchError: the subject has the schema under another id.
            IncompatibleSchemaError: it does not fit the versions before it.
            TooLargeError: the log does not take a record of this size.
        """
        if not is_valid_subject(asked.subject):
            raise InvalidSubjectError(asked.subject)
        content = self._with_text(asked)
        found = self._found(asked, content)
        if found is not None and _is_wanted(found, asked):
            return found
        self._check_mode(asked)
        canonical = self._reading.canonical(
            asked.subject, content, normalize=asked.normalize, stored=asked.id is not None
        )
        self._reading.check_references(asked.subject, canonical)
        with self._writing.alone():
            self._check_mode(asked)
            # What it refers to may have been deleted meanwhile; the parsed schema is still kept.
            self._reading.check_references(asked.subject, canonical)
            return self._register(replace(asked, content=canonical))

    def _found(self, asked: Registration, content: Content) -> SchemaVersion | None:
        """Return a version that is the schema already, whatever the mode is."""
        if populates(self._scopes.config(asked.subject)):
            return None
        if asked.version != LATEST:
            return self._reading.find(asked.subject, content, Which.LIVE, normalize=asked.normalize)
        latest = self._state.latest(asked.subject)
        wanted = self._reading.canonical(
            asked.subject, content, normalize=asked.normalize, stored=True
        )
        return matching(wanted, [latest] if latest else [])

    def _with_text(self, asked: Registration) -> Content:
        if asked.content.text.strip():
            return asked.content
        latest = self._state.latest(asked.subject)
        if latest is None or self._scopes.mode(asked.subject).importing:
            raise RejectedSchemaError(reason="Empty schema")
        return replace(
            latest.content, metadata=asked.content.metadata, rule_set=asked.content.rule_set
        )

    def _check_mode(self, asked: Registration) -> None:
        self._scopes.check_writable(asked.subject)
        mode = self._scopes.mode(asked.subject)
        where = f"Subject {asked.subject} in context {context_of(asked.subject)}"
        if asked.id is not None and not mode.importing:
            raise NotPermittedError(reason=f"{where} is not in import mode")
        if asked.id is None and mode is not Mode.READWRITE:
            raise NotPermittedError(reason=f"{where} is not in read-write mode")

    def _register(self, asked: Registration) -> SchemaVersion:
        importing = self._scopes.mode(asked.subject).importing
        live = self._state.versions(asked.subject, Which.LIVE)
        content = asked.content
        if not importing:
            config = self._scopes.config(asked.subject)
            content = populated(content, live[-1] if live else None, config)
        latest_only = asked.version == LATEST
        same = matching(asked.content, live[-1:]) if latest_only else matching(content, live)
        if same is not None and _is_wanted(same, asked):
            return same
        version = self._version(asked, importing=importing)
        if not importing:
            content = numbered(content, version, wanted=asked.version is not None)
            self._check_compatible(asked.subject, content, live)
        schema_id = self._id(asked, content, same)
        new = SchemaVersion(subject=asked.subject, version=version, id=schema_id, content=content)
        self._writing.append(self._changes(new))
        return new

    def _check_compatible(
        self, subject: Subject, content: Content, live: Sequence[SchemaVersion]
    ) -> None:
        reasons = self._compatibility.reasons(subject, content, live)
        if reasons:
            raise IncompatibleSchemaError(subject, reasons)

    def _version(self, asked: Registration, *, importing: bool) -> int:
        versions = self._state.versions(asked.subject, Which.ALL)
        following = versions[-1].version + 1 if versions else 1
        if asked.version in (None, LATEST, following):
            return following
        if not importing:
            raise RejectedSchemaError(
                reason="Version is not one more than previous version: "
                f"{asked.version}, not {following}"
            )
        return asked.version or following

    def _id(self, asked: Registration, content: Content, same: SchemaVersion | None) -> int:
        context = context_of(asked.subject)
        if asked.id is not None:
            if same is not None and asked.version in (None, LATEST):
                raise IdDoesNotMatchError(same.id, asked.id)
            if any(one.content != content for one in self._state.holders(context, asked.id)):
                raise NotPermittedError(
                    reason=f"Overwrite new schema with id {asked.id} in context {context} "
                    "is not permitted."
                )
            return asked.id
        known = self._state.id_of(context, content)
        return self._next_id(context) if known is None else known

    def _next_id(self, context: str) -> int:
        following = self._state.max_id(context) + 1
        if following > MAX_ID:
            raise StoreError(message=f"all ids of context '{context}' are given, up to {MAX_ID}")
        return following

    def _changes(self, new: SchemaVersion) -> list[Change]:
        changes: list[Change] = []
        context = context_of(new.subject)
        if context != DEFAULT_CONTEXT and not self._state.has_context(context):
            changes.append(ContextSet(context=context, exists=True))
        # A deleted version of the same schema would answer for its id in place of this one.
        changes += [
            SchemaGone(subject=old.subject, version=old.version)
            for old in self._state.versions(new.subject, Which.DELETED)
            if old.id == new.id and old.version < new.version
        ]
        if self._state.version(new.subject, new.version) is not None:
            changes.append(self._state.ids_given())
        return [*changes, new]


def _is_wanted(found: SchemaVersion, asked: Registration) -> bool:
    """Whether a version that is the schema is all that was asked for."""
    if asked.id is not None and asked.id != found.id:
        return False
    by_number = asked.id is not None and asked.version == found.version
    return asked.version in (None, LATEST) or by_number
