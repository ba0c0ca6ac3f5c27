"""Log levels for a while: changed by a command, and back by themselves."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock, Timer, current_thread
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from penstock.control.commands import SetLogLevel
    from penstock.engine.log_levels import FormerLevel

logger = logging.getLogger(__name__)


class Loggers(Protocol):
    """What has levels; `engine.log_levels.JvmLogLevels` does."""

    def level_of(self, logger: str) -> FormerLevel:
        """Return the level of a logger."""

    def change(self, logger: str, level: str) -> None:
        """Set the level of a logger."""

    def restore(self, former: FormerLevel) -> None:
        """Let a logger be as it was."""


@dataclass(frozen=True, slots=True)
class _Change:
    former: FormerLevel
    timer: Timer


class LogLevels:
    """The levels that were changed and will go back. Use it as a context manager."""

    def __init__(self, loggers: Loggers) -> None:
        self._loggers, self._lock = loggers, Lock()
        self._changes: dict[str, _Change] = {}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what is to go back: the JVM ends too."""
        with self._lock:
            for change in self._changes.values():
                change.timer.cancel()
            self._changes.clear()

    def set(self, command: SetLogLevel) -> str:
        """Change a level; a change that is under way is replaced, and so is its end.

        It goes back to what it was before the first of them.
        """
        name = command.logger
        with self._lock:
            before = self._changes.pop(name, None)
            if before is not None:
                before.timer.cancel()
            former = before.former if before else self._loggers.level_of(name)
            self._loggers.change(name, command.level)
            timer = Timer(command.for_seconds, self._go_back, args=(name,))
            timer.daemon = True
            self._changes[name] = _Change(former, timer)
            timer.start()
        until = datetime.now(UTC) + timedelta(seconds=command.for_seconds)
        return (
            f"logger `{name}` writes `{command.level}` until {until:%Y-%m-%d %H:%M:%S} UTC, then"
            f" `{former.effective}` again"
        )

    def _go_back(self, name: str) -> None:
        with self._lock:
            change = self._changes.get(name)
            # One that was replaced while its timer fired goes back at another time.
            if change is None or change.timer is not current_thread():
                return
            del self._changes[name]
            try:
                self._loggers.restore(change.former)
            except Exception:  # the top of a thread: the JVM may have ended meanwhile
                logger.exception("a log level did not go back", extra={"logger_name": name})
