"""Which config and which mode hold for a subject: its own, its context's, or everybody's."""

from dataclasses import replace

from penstock.names import Subject
from penstock.registry.contexts import (
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    context_of,
    prefix_of,
)
from penstock.registry.entries import Config, Mode
from penstock.registry.errors import NotPermittedError
from penstock.registry.state import RegistryState
from penstock.schemas import Level

DEFAULT_LEVEL = Level.BACKWARD


class Scopes:
    """Looks from a subject outwards."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state

    def config(self, subject: Subject | None) -> Config:
        """Return the nearest config; its level is never None."""
        configs = [config for scope in _outwards(subject) if (config := self._state.config(scope))]
        levels = [config.compatibility_level for config in configs if config.compatibility_level]
        nearest = configs[0] if configs else Config()
        return replace(nearest, compatibility_level=levels[0] if levels else DEFAULT_LEVEL)

    def level(self, subject: Subject) -> Level:
        """Return the compatibility level that holds for a subject."""
        return self.config(subject).compatibility_level or DEFAULT_LEVEL

    def mode(self, subject: Subject | None) -> Mode:
        """Return the mode that holds for a subject."""
        if self._state.mode(None) is Mode.READONLY_OVERRIDE:
            return Mode.READONLY_OVERRIDE
        modes = [mode for scope in _outwards(subject) if (mode := self._state.mode(scope))]
        return modes[0] if modes else Mode.READWRITE

    def check_writable(self, subject: Subject | None) -> None:
        """Refuse a change to what is read-only.

        Raises:
            NotPermittedError: the mode that holds for the subject forbids writes.
        """
        if self.mode(subject).read_only:
            raise NotPermittedError(
                reason=f"Subject {subject} in context {context_of(subject or '')} "
                "is in read-only mode"
            )


def _outwards(subject: Subject | None) -> list[Subject | None]:
    """Return the scopes that hold a subject, the nearest first."""
    if subject is None:
        return [None, GLOBAL_CONTEXT]
    context = context_of(subject)
    around = None if context == DEFAULT_CONTEXT else Subject(prefix_of(context))
    return list(dict.fromkeys([subject, around, GLOBAL_CONTEXT]))
