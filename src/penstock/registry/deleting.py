"""Deleting: first softly, so that ids still answer, then for good."""

from dataclasses import replace

from penstock.names import Subject
from penstock.registry.contexts import context_of
from penstock.registry.entries import SchemaVersion
from penstock.registry.errors import (
    ContextNotEmptyError,
    ReferenceExistsError,
    SubjectNotFoundError,
    SubjectNotSoftDeletedError,
    SubjectSoftDeletedError,
    VersionNotFoundError,
    VersionNotSoftDeletedError,
    VersionSoftDeletedError,
)
from penstock.registry.reading import Reading
from penstock.registry.records import (
    Change,
    ConfigSet,
    ContextSet,
    ModeSet,
    SchemaGone,
    SubjectDeleted,
)
from penstock.registry.scopes import Scopes
from penstock.registry.state import RegistryState, Which
from penstock.registry.writing import Writing


class Deleting:
    """Takes versions, subjects and contexts away."""

    def __init__(
        self, state: RegistryState, writing: Writing, scopes: Scopes, reading: Reading
    ) -> None:
        self._state = state
        self._writing = writing
        self._scopes = scopes
        self._reading = reading

    def delete_version(self, subject: Subject, number: int | None, *, permanent: bool) -> int:
        """Delete a version, or (None) the last one, and return its number.

        Raises:
            SubjectNotFoundError, VersionNotFoundError: there is nothing to delete.
            VersionSoftDeletedError: it is deleted already.
            VersionNotSoftDeletedError: it was not deleted before it should be for good.
            ReferenceExistsError: another schema refers to it.
            NotPermittedError: the subject is read-only.
        """
        with self._writing.alone():
            version = self._version_to_delete(subject, number, permanent=permanent)
            self._scopes.check_writable(subject)
            self._check_unreferenced(version)
            if permanent and not version.deleted:
                raise VersionNotSoftDeletedError(subject, version.version)
            if permanent:
                self._writing.append(self._gone([version]))
            else:
                self._writing.append([replace(version, deleted=True)])
        return version.version

    def _version_to_delete(
        self, subject: Subject, number: int | None, *, permanent: bool
    ) -> SchemaVersion:
        found = self._reading.found_version(subject, number, Which.ALL)
        if found is None:
            if not self._state.has_versions(subject, Which.ALL):
                raise SubjectNotFoundError(subject)
            raise VersionNotFoundError(-1 if number is None else number)
        if found.deleted and not permanent:
            raise VersionSoftDeletedError(subject, found.version)
        return found

    def delete_subject(self, subject: Subject, *, permanent: bool) -> list[int]:
        """Delete all versions of a subject and return their numbers.

        Raises:
            SubjectNotFoundError: there is no such subject.
            SubjectSoftDeletedError: it is deleted already.
            SubjectNotSoftDeletedError: it was not deleted before it should be for good.
            ReferenceExistsError: another schema refers to one of its versions.
            NotPermittedError: the subject is read-only.
        """
        with self._writing.alone():
            versions = self._versions_to_delete(subject, permanent=permanent)
            if permanent:
                self._writing.append(self._gone(versions))
            else:
                last = versions[-1].version
                self._writing.append([SubjectDeleted(subject=subject, version=last)])
        return [version.version for version in versions]

    def _versions_to_delete(self, subject: Subject, *, permanent: bool) -> list[SchemaVersion]:
        if not self._state.versions(subject, Which.ALL):
            raise SubjectNotFoundError(subject)
        versions = self._state.versions(subject, Which.ALL if permanent else Which.LIVE)
        if not versions:
            raise SubjectSoftDeletedError(subject)
        self._scopes.check_writable(subject)
        for version in versions:
            self._check_unreferenced(version)
        if permanent and not all(version.deleted for version in versions):
            raise SubjectNotSoftDeletedError(subject)
        return versions

    def _check_unreferenced(self, version: SchemaVersion) -> None:
        if self._state.referrers(version.subject, version.version):
            raise ReferenceExistsError(version.subject, version.version)

    def _gone(self, versions: list[SchemaVersion]) -> list[Change]:
        """Return the changes that end versions, and with a subject's last one its settings."""
        subject = versions[0].subject
        changes: list[Change] = [
            SchemaGone(subject=subject, version=version.version) for version in versions
        ]
        changes.append(self._state.ids_given())
        if len(self._state.versions(subject, Which.ALL)) > len(versions):
            return changes
        if self._state.mode(subject) is not None:
            changes.append(ModeSet(subject=subject, mode=None))
        if self._state.config(subject) is not None:
            changes.append(ConfigSet(subject=subject, config=None))
        return changes

    def delete_context(self, context: Subject) -> None:
        """Delete a context (`:.ctx:`) that has no schemas, deleted ones neither.

        Raises:
            SubjectNotFoundError: there is no such context.
            ContextNotEmptyError: it has schemas.
        """
        name = context_of(context)
        with self._writing.alone():
            if self._state.has_versions(context, Which.ALL):
                raise ContextNotEmptyError(context)
            if not self._state.has_context(name):
                raise SubjectNotFoundError(context)
            self._writing.append([ContextSet(context=name, exists=False)])
