"""What is in the log, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.tables.entries import Followed, key_bytes
from penstock.names import Offset

if TYPE_CHECKING:
    from penstock.kafka.tables.entries import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record; without a value, the key is deleted."""

    key: bytes
    value: bytes | None


Fold = Callable[[LogRecord, Offset], None]
"""Called with each committed record in order, by one thread."""


class Folding(Followed):
    """Hands every committed record on."""

    def __init__(self, fold: Fold) -> None:
        super().__init__()
        self._fold = fold
        self.records_end = Offset(0)
        """The offset behind the last record; what is between it and the position is no record."""

    def take(self, change: Change) -> None:
        """Hand one record on."""
        value = change.entry.value if change.entry is not None else None
        self._fold(LogRecord(key=key_bytes(change.key), value=value), change.offset)
        self.records_end = Offset(change.offset + 1)
