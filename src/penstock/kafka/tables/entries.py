"""What a table holds: its entries, how records change them, and waiting for a change.

Nothing here speaks to Kafka. Records come from `kafka/tables/following.py`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock.names import Offset, Version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A value in a table. `version` grows with every write; `written_at` is the broker's clock."""

    value: bytes
    version: Version
    written_at: datetime


OnChange = Callable[[str, Entry | None], None]
"""Called with a key and its new entry, None when it was deleted."""


def ignore_change(_key: str, _entry: Entry | None) -> None:
    """Be the callback of a table that was given none."""


class Change(NamedTuple):
    """What one record does to the table."""

    key: str
    entry: Entry | None
    offset: Offset


def key_bytes(key: str) -> bytes:
    """Return a key as it stands in a record."""
    return key.encode("utf-8", "surrogateescape")


def key_text(key: bytes) -> str:
    """Return the key of a record as text; bytes that are not UTF-8 survive the way back."""
    return key.decode("utf-8", "surrogateescape")


class Followed(ABC):
    """What a follower keeps up to date: how far the topic was read, and those who wait for it.

    Changed by one thread, read by any.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._position = Offset(0)
        self._end: PenstockError | None = None

    @property
    def position(self) -> Offset:
        """The offset up to which all records have been taken in."""
        return self._position

    @property
    def fault(self) -> PenstockError | None:
        """What `end` was called with; None while the topic is followed."""
        return self._end

    @abstractmethod
    def take(self, change: Change) -> None:
        """Take in what one record does."""

    def apply(self, changes: Sequence[Change], position: Offset) -> None:
        """Take changes in, up to `position`, and wake who waits."""
        with self._changed:
            for change in changes:
                self.take(change)
            self._position = max(self._position, position)
            self._changed.notify_all()

    def wake(self) -> None:
        """Let all who wait look at their condition again."""
        with self._changed:
            self._changed.notify_all()

    def end(self, reason: PenstockError) -> None:
        """Let all who wait, now or later, be told `reason`; the first reason stays."""
        with self._changed:
            self._end = self._end or reason
            self._changed.notify_all()

    def await_condition(self, condition: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until `condition` holds, looking at each change; return whether it came to that.

        Raises:
            PenstockError: what `end` was called with.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._end is not None or condition(), max(0.0, timeout_seconds)
            )
            self._ensure_live()
            return condition()

    def _ensure_live(self) -> None:
        if self._end is not None:
            raise self._end


class Contents(Followed):
    """The entries up to a position in the topic."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, Entry] = {}

    def get(self, key: str) -> Entry | None:
        """Return the entry of `key`."""
        self._ensure_live()
        return self._entries.get(key)

    def copied(self) -> dict[str, Entry]:
        """Return all entries as of one position."""
        self._ensure_live()
        with self._changed:
            return self._entries.copy()

    def entries_at(self, prefix: str) -> tuple[Offset, dict[str, Entry]]:
        """Return some entries, and the position they are as of."""
        self._ensure_live()
        with self._changed:
            found = {key: item for key, item in self._entries.items() if key.startswith(prefix)}
            return self._position, found

    def take(self, change: Change) -> None:
        """Put one change in."""
        key, entry, _ = change
        if entry is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = entry
