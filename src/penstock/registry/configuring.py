"""Configs and modes: of a subject, of a context (`:.ctx:`), or (None) of everything."""

from collections.abc import Callable

from penstock.names import Subject
from penstock.registry.contexts import DEFAULT_CONTEXT, context_of, is_valid_subject, qualified
from penstock.registry.entries import Config, Mode
from penstock.registry.errors import (
    ConfigNotFoundError,
    InvalidSubjectError,
    ModeNotFoundError,
    NotPermittedError,
    ReferenceExistsError,
    SubjectNotFoundError,
)
from penstock.registry.records import Change, ConfigSet, ModeSet, SchemaGone, SubjectsCleared
from penstock.registry.scopes import DEFAULT_LEVEL, Scopes
from penstock.registry.state import RegistryState, Which
from penstock.registry.writing import Writing


class Configuring:
    """Reads and changes configs and modes."""

    def __init__(self, state: RegistryState, writing: Writing, scopes: Scopes) -> None:
        self._state = state
        self._writing = writing
        self._scopes = scopes

    def config(self, subject: Subject | None, *, in_scope: bool) -> Config:
        """Return a config.

        Args:
            subject: Whose.
            in_scope: Where a subject has none, the one that holds for it.

        Raises:
            ConfigNotFoundError: the subject has none of its own.
        """
        own = self._state.config(subject)
        if subject is None or in_scope:
            return self._scopes.config(subject)
        if own is None:
            raise ConfigNotFoundError(subject)
        return own

    def set_config(self, subject: Subject | None, change: Callable[[Config], Config]) -> Config:
        """Change a config and return it as it is then.

        Raises:
            InvalidSubjectError: this cannot be the name of a subject.
            NotPermittedError: the subject is read-only.
        """
        _check_name(subject)
        with self._writing.alone():
            self._scopes.check_writable(subject)
            config = change(self._state.config(subject) or Config())
            self._writing.append([ConfigSet(subject=subject, config=config)])
        return config

    def delete_config(self, subject: Subject | None) -> Config:
        """Unset a config, so that the one around it holds, and return what it was.

        Raises:
            SubjectNotFoundError: the subject has no config of its own.
            NotPermittedError: the subject is read-only.
        """
        with self._writing.alone():
            config = self._state.config(subject)
            if config is None and subject is not None:
                raise SubjectNotFoundError(subject)
            self._scopes.check_writable(subject)
            self._writing.append([ConfigSet(subject=subject, config=None)])
        return config or Config(compatibility_level=DEFAULT_LEVEL)

    def mode(self, subject: Subject | None, *, in_scope: bool) -> Mode:
        """Return a mode; arguments as for `config`.

        Raises:
            ModeNotFoundError: the subject has none of its own.
        """
        own = self._state.mode(subject)
        scoped = self._scopes.mode(subject)
        if subject is None or in_scope or scoped is Mode.READONLY_OVERRIDE:
            return scoped
        if own is None:
            raise ModeNotFoundError(subject)
        return own

    def set_mode(self, subject: Subject | None, mode: Mode, *, force: bool) -> None:
        """Change a mode.

        Import mode needs a place without schemas, where ids from elsewhere cannot meet others;
        what is left there of deleted ones is forgotten.

        Args:
            subject: Whose.
            mode: The new one.
            force: Whether to import beside what is there.

        Raises:
            InvalidSubjectError: this cannot be the name of a subject.
            NotPermittedError: there are schemas where others should be imported.
            ReferenceExistsError: a schema elsewhere refers to what would be forgotten.
        """
        _check_name(subject)
        with self._writing.alone():
            changes: list[Change] = []
            if mode is Mode.IMPORT and self._scopes.mode(subject) is not mode and not force:
                changes += self._emptied(subject)
            self._writing.append([*changes, ModeSet(subject=subject, mode=mode)])

    def _emptied(self, subject: Subject | None) -> list[Change]:
        if self._state.has_versions(subject, Which.LIVE):
            raise NotPermittedError(reason="Cannot import since found existing subjects")
        changes: list[Change] = []
        for version in self._state.matching(subject, Which.DELETED):
            if self._state.referrers(version.subject, version.version):
                raise ReferenceExistsError(version.subject, version.version)
            changes.append(SchemaGone(subject=version.subject, version=version.version))
        return [*changes, self._state.ids_given(), SubjectsCleared(subject=subject)]

    def delete_mode(self, subject: Subject | None, *, recursive: bool) -> Mode:
        """Unset a mode, so that the one around it holds, and return what it was.

        Args:
            subject: Whose.
            recursive: Of a context, or of everything: unset those of its subjects too.

        Raises:
            SubjectNotFoundError: the subject has no mode of its own.
        """
        with self._writing.alone():
            mode = self._state.mode(subject)
            if mode is None and subject is not None:
                raise SubjectNotFoundError(subject)
            inside = self._subjects_inside(subject) if recursive else []
            self._writing.append([ModeSet(subject=each, mode=None) for each in [subject, *inside]])
        return mode or Mode.READWRITE

    def _subjects_inside(self, subject: Subject | None) -> list[Subject]:
        if subject is None:
            return self._state.subjects_with_mode(DEFAULT_CONTEXT)
        inside = not qualified(subject).name
        return self._state.subjects_with_mode(context_of(subject)) if inside else []

    def aliased(self, subject: Subject) -> Subject:
        """Return the subject that is meant where `subject` is an alias of another."""
        config = self._state.config(subject)
        return Subject(config.alias) if config is not None and config.alias else subject


def _check_name(subject: Subject | None) -> None:
    if subject is not None and not is_valid_subject(subject):
        raise InvalidSubjectError(subject)
