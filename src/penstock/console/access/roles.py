"""What a user of the console may do."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """Each role may do all that the ones before it may."""

    VIEWER = 1
    """Sees everything but what is masked, and changes nothing."""

    OPERATOR = 2
    """Operates pipelines, resets groups, produces records, silences alerts."""

    ADMIN = 3
    """Changes topics, schemas and brokers."""

    @property
    def word(self) -> str:
        """How files and pages call it."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Role:
        """Return the role that `word` names.

        Raises:
            ValueError: there is none.
        """
        try:
            return cls[word.upper()]
        except KeyError:
            reason = f"`{word}` is not a role: {', '.join(role.word for role in cls)}"
            raise ValueError(reason) from None
