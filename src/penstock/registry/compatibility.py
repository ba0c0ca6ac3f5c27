"""Compatibility: whether a schema may follow those that its subject has."""

from collections.abc import Sequence

from penstock.names import Subject
from penstock.registry.entries import Config, Content, SchemaVersion
from penstock.registry.errors import RejectedSchemaError, VersionNotFoundError
from penstock.registry.parsing import Parsing
from penstock.registry.reading import Reading
from penstock.registry.rules import properties_of
from penstock.registry.scopes import Scopes
from penstock.registry.state import RegistryState, Which
from penstock.schemas import Incompatibility, Level, incompatibilities


class Compatibility:
    """Compares schemas."""

    def __init__(
        self, state: RegistryState, parsing: Parsing, scopes: Scopes, reading: Reading
    ) -> None:
        self._state = state
        self._parsing = parsing
        self._scopes = scopes
        self._reading = reading

    def against_all(self, subject: Subject, content: Content, *, normalize: bool) -> list[str]:
        """Return why a schema could not be registered now: empty if it could.

        Raises:
            RejectedSchemaError: this is not a schema.
        """
        earlier = self._state.versions(subject, Which.LIVE)
        return self._reasons(subject, content, earlier, normalize=normalize)

    def against_one(
        self, subject: Subject, content: Content, number: int | None, *, normalize: bool
    ) -> list[str]:
        """Return why a schema is not compatible with one version, or (None) the last.

        Raises:
            RejectedSchemaError: this is not a schema.
            VersionNotFoundError: there is no such version.
        """
        found = self._reading.found_version(subject, number, Which.LIVE)
        if found is None and number is not None:
            raise VersionNotFoundError(number)
        earlier = [] if found is None else [found]
        return self._reasons(subject, content, earlier, normalize=normalize)

    def _reasons(
        self, subject: Subject, content: Content, earlier: list[SchemaVersion], *, normalize: bool
    ) -> list[str]:
        if not content.text.strip():
            raise RejectedSchemaError(reason="Empty schema")
        canonical = self._reading.canonical(subject, content, normalize=normalize, stored=False)
        return self.reasons(subject, canonical, earlier)

    def reasons(
        self, subject: Subject, content: Content, earlier: Sequence[SchemaVersion]
    ) -> list[str]:
        """Return why `content`, in its stored form, cannot follow `earlier` (oldest first)."""
        config = self._scopes.config(subject)
        level = self._scopes.level(subject)
        compared = [one for one in earlier if _same_group(config, content, one)]
        if level is Level.NONE or not compared:
            return []
        new = self._parsing.parsed(subject, content, stored=True)
        for old in reversed(compared if level.transitive else compared[-1:]):
            parsed = self._parsing.parsed(subject, old.content, stored=True)
            found = incompatibilities(new, [parsed], level)
            if found:
                return _report(found, old, config)
        return []


def _same_group(config: Config, content: Content, earlier: SchemaVersion) -> bool:
    """Whether two schemas are to be compatible: metadata can put them into groups of their own."""
    group = config.compatibility_group
    if group is None:
        return True
    own = properties_of(content.metadata).get(group)
    return own == properties_of(earlier.content.metadata).get(group)


def _report(found: list[Incompatibility], old: SchemaVersion, config: Config) -> list[str]:
    """Return what does not fit, then what it does not fit to: in Confluent's notation."""
    validates = str(bool(config.validate_fields)).lower()
    return [
        *(
            f"{{errorType:'{one.kind}', description:'{one.message}', additionalInfo:'{one.path}'}}"
            for one in found
        ),
        f"{{oldSchemaVersion: {old.version}}}",
        f"{{oldSchema: '{old.content.text}'}}",
        f"{{validateFields: '{validates}', compatibility: '{config.compatibility_level}'}}",
    ]
