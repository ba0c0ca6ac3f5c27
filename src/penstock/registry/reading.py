"""Looking things up: subjects, versions, ids and guids. Nothing here waits for a write."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.names import Subject
from penstock.registry.contexts import (
    DEFAULT_CONTEXT,
    QualifiedName,
    context_of,
    prefix_of,
    qualified,
)
from penstock.registry.entries import Content, SchemaVersion
from penstock.registry.errors import (
    RejectedSchemaError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from penstock.registry.parsing import Parsing
from penstock.registry.populating import matching, populated
from penstock.registry.rules import properties_of, rule_types_of
from penstock.registry.scopes import Scopes
from penstock.registry.state import RegistryState, Which


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextId:
    """The id of a schema in one context."""

    context: str
    id: int


class Reading:
    """Answers from the folded state."""

    def __init__(self, state: RegistryState, parsing: Parsing, scopes: Scopes) -> None:
        self._state = state
        self._parsing = parsing
        self._scopes = scopes

    def subjects(self, prefix: QualifiedName, which: Which) -> list[Subject]:
        """Return the subjects that begin with `prefix`, sorted."""
        return self._state.subjects(prefix, which)

    def contexts(self) -> list[str]:
        """Return all contexts, the default one first."""
        return self._state.contexts()

    def versions(self, subject: Subject, which: Which) -> list[int]:
        """Return the version numbers of a subject.

        Raises:
            SubjectNotFoundError: it has none; deleted ones count unless only live ones do.
        """
        exists = Which.LIVE if which is Which.LIVE else Which.ALL
        if not self._state.has_versions(subject, exists):
            raise SubjectNotFoundError(subject)
        return [version.version for version in self._state.versions(subject, which)]

    def version(self, subject: Subject, number: int | None, which: Which) -> SchemaVersion:
        """Return a version, or (None) the last one that is not deleted.

        A subject without a context that the default context does not have is looked for in all.

        Raises:
            SubjectNotFoundError: there is no such subject.
            VersionNotFoundError: the subject has no such version.
        """
        for each in self._everywhere(subject):
            found = self.found_version(each, number, which)
            if found is not None:
                return found
        if not self._state.has_versions(subject, which):
            raise SubjectNotFoundError(subject)
        raise VersionNotFoundError(-1 if number is None else number)

    def found_version(
        self, subject: Subject, number: int | None, which: Which
    ) -> SchemaVersion | None:
        """Return a version, or (None) the last one, of just this subject; None if there is none."""
        if number is None:
            return self._state.latest(subject)
        found = self._state.version(subject, number)
        return found if found is not None and which.includes(found) else None

    def referenced_by(self, subject: Subject, number: int | None) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        version = self.version(subject, number, Which.ALL)
        return self._state.referrers(version.subject, version.version)

    def schemas(
        self, prefix: QualifiedName, which: Which, *, latest_only: bool, rule_type: str
    ) -> list[SchemaVersion]:
        """Return the versions of all subjects that begin with `prefix`, sorted."""
        found: list[SchemaVersion] = []
        for subject in self._state.subjects(prefix, Which.ALL):
            versions = self._state.versions(subject, which)
            found += versions[-1:] if latest_only else versions
        if not rule_type:
            return found
        return [one for one in found if rule_type in rule_types_of(one.content.rule_set)]

    def by_id(self, schema_id: int, subject: Subject | None) -> SchemaVersion:
        """Return a version that has an id, deleted or not.

        Args:
            schema_id: The id.
            subject: In which context to look: that of the subject, which is preferred.

        Raises:
            SchemaNotFoundError: no schema has this id there.
        """
        holders = self._holders(schema_id, subject)
        if not holders:
            raise SchemaNotFoundError(schema_id)
        return next((one for one in holders if one.subject == subject), holders[0])

    def _holders(self, schema_id: int, subject: Subject | None) -> list[SchemaVersion]:
        name = qualified(subject or "")
        here = self._state.holders(name.context, schema_id)
        if not name.name:
            return here
        for each in self._everywhere(name.subject):
            holders = self._state.holders(context_of(each), schema_id)
            if any(one.subject == each for one in holders):
                return holders
        return here if name.context == DEFAULT_CONTEXT else []

    def versions_of_id(
        self, schema_id: int, subject: Subject | None, which: Which
    ) -> list[SchemaVersion]:
        """Return the versions that have an id.

        Raises:
            SchemaNotFoundError: no schema has this id.
        """
        holders = self._holders(schema_id, subject)
        if not holders:
            raise SchemaNotFoundError
        return [one for one in holders if which.includes(one)]

    def max_id(self, subject: Subject) -> int:
        """Return the highest id in the context of a subject."""
        return self._state.max_id(context_of(subject))

    def by_guid(self, guid: str) -> SchemaVersion:
        """Return a version that has this guid, in the first context that knows it.

        Raises:
            SchemaNotFoundError: no schema has it.
        """
        ids = self.ids_of_guid(guid)
        if not ids:
            raise SchemaNotFoundError(guid)
        return self._state.holders(ids[0].context, ids[0].id)[0]

    def ids_of_guid(self, guid: str) -> list[ContextId]:
        """Return the ids that the schema with this guid has, by context."""
        found = [
            (context, self._state.id_by_guid(context, guid)) for context in self._state.contexts()
        ]
        return [ContextId(context=context, id=id_) for context, id_ in found if id_ is not None]

    def with_metadata(
        self, subject: Subject, properties: Mapping[str, str], which: Which
    ) -> SchemaVersion:
        """Return the last version whose metadata has all these properties.

        Raises:
            SubjectNotFoundError: there is no such subject.
            SchemaNotFoundError: no version of it has them.
        """
        versions = self._state.versions(subject, which)
        for version in reversed(versions):
            if properties.items() <= properties_of(version.content.metadata).items():
                return version
        raise SchemaNotFoundError if versions else SubjectNotFoundError(subject)

    def lookup(
        self, subject: Subject, content: Content, which: Which, *, normalize: bool
    ) -> SchemaVersion:
        """Return the version of a subject that is this schema.

        Raises:
            SubjectNotFoundError: there is no such subject.
            SchemaNotFoundError: no version of it is this schema.
            RejectedSchemaError: this is not a schema.
        """
        found = self.find(subject, content, which, normalize=normalize)
        if found is None:
            found = self._find_elsewhere(subject, content, which, normalize=normalize)
        if found is not None:
            return found
        if not self._state.has_versions(subject, which):
            raise SubjectNotFoundError(subject)
        raise SchemaNotFoundError

    def find(
        self, subject: Subject, content: Content, which: Which, *, normalize: bool
    ) -> SchemaVersion | None:
        """Return the version of just this subject that is this schema, if there is one.

        Where it comes without metadata or rules, those that it would be stored with are meant.
        """
        if not content.text.strip():
            return None
        wanted = self.canonical(subject, content, normalize=normalize, stored=True)
        versions = self._state.versions(subject, which)
        config = self._scopes.config(subject)
        stored = populated(wanted, self._state.latest(subject), config)
        return matching(wanted, versions) or matching(stored, versions)

    def _find_elsewhere(
        self, subject: Subject, content: Content, which: Which, *, normalize: bool
    ) -> SchemaVersion | None:
        for each in self._everywhere(subject)[1:]:
            try:
                found = self.find(each, content, which, normalize=normalize)
            except RejectedSchemaError:
                continue
            if found is not None:
                return found
        return None

    def canonical(
        self, subject: Subject, content: Content, *, normalize: bool, stored: bool
    ) -> Content:
        """Return the form in which a schema is stored under a subject.

        Args:
            subject: Which one.
            content: The schema as a client gave it.
            normalize: Whether to store the normal form; the subject's config may ask for it too.
            stored: Whether it may be as lax as what other registries have stored.

        Raises:
            RejectedSchemaError: this is not a schema.
        """
        pinned = self._parsing.pinned(subject, content)
        schema = self._parsing.parsed(subject, pinned, stored=stored)
        normal = normalize or bool(self._scopes.config(subject).normalize)
        return replace(pinned, text=schema.normalized() if normal else schema.canonical())

    def check_references(self, subject: Subject, content: Content) -> None:
        """Refuse a schema, in its stored form, that refers to what is not there.

        Raises:
            RejectedSchemaError: a reference leads nowhere.
        """
        self._parsing.parsed(subject, content, stored=True)

    def _everywhere(self, subject: Subject) -> list[Subject]:
        """Return a subject and, when it names no context, its namesakes in the others."""
        if context_of(subject) != DEFAULT_CONTEXT:
            return [subject]
        return [Subject(prefix_of(context) + subject) for context in self._state.contexts()]
