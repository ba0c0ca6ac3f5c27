"""Contexts: a subject `:.orders:customer-value` is `customer-value` in the context `.orders`.

Each context has schema ids of its own. Subjects without a context are in the default one, `.`.
"""

import unicodedata
from dataclasses import dataclass

from penstock.names import Subject

DEFAULT_CONTEXT = "."
EVERY_CONTEXT = ":*:"
"""As the beginning of a subject: whichever context."""

GLOBAL_CONTEXT = Subject(":.__GLOBAL:")
"""Config and mode under this name hold for contexts that have none of their own."""

_RESERVED_NAME = "__GLOBAL"


class InvalidContextError(ValueError):
    """A context has a colon in its name."""

    def __init__(self, context: str) -> None:
        super().__init__(f"a context must not contain a colon: `{context}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifiedName:
    """A subject taken apart; the name is empty where a whole context is meant."""

    context: str
    name: str

    @property
    def subject(self) -> Subject:
        """The subject as the API spells it."""
        return Subject(prefix_of(self.context) + self.name)


def qualified(subject: str) -> QualifiedName:
    """Take a subject apart; `:*:` as its beginning gives the context `*`."""
    if subject.startswith(":."):
        context, _, name = subject[1:].partition(":")
        return QualifiedName(context=context, name=name)
    if subject.startswith(EVERY_CONTEXT):
        return QualifiedName(context="*", name=subject[len(EVERY_CONTEXT) :])
    return QualifiedName(context=DEFAULT_CONTEXT, name=subject)


def normal_subject(subject: str) -> Subject:
    """Return the one spelling of a subject: `:.:name` is `name`, `:.ctx` is `:.ctx:`."""
    return qualified(subject).subject


def context_of(subject: str) -> str:
    """Return the context of a subject."""
    return qualified(subject).context


def prefix_of(context: str) -> str:
    """Return what subjects of the context begin with: nothing in the default context."""
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def prefix_from_path(context: str) -> str:
    """Return the prefix for a context as `/contexts/{context}/` gives it: dot and colons optional.

    Raises:
        InvalidContextError: the name has a colon inside.
    """
    bare = context.removeprefix(":").removesuffix(":")
    if ":" in bare:
        raise InvalidContextError(bare)
    return prefix_of(bare if bare.startswith(".") else f".{bare}")


def beside(subject: str, other: str) -> Subject:
    """Return what `other` means in a schema of `subject`: without a context, the same one."""
    if context_of(other) != DEFAULT_CONTEXT:
        return normal_subject(other)
    return QualifiedName(context=context_of(subject), name=qualified(other).name).subject


def is_valid_subject(subject: str) -> bool:
    """Whether schemas may be registered under this name."""
    controls = any(unicodedata.category(character) == "Cc" for character in subject)
    return not controls and qualified(subject).name != _RESERVED_NAME
