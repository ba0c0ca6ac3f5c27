"""The last lines that the driver of a pipeline has written, when they are on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.console.access.roles import Role

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.console.frame import Ask
    from penstock.control.overviews import Overview

_LINES, _BYTES = 100, 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """What a driver has written, or where it is."""

    lines: tuple[str, ...]
    where: str | None
    """The file; None: on another machine, or in the terminal where it runs."""

    why_not: str | None
    """Why there are no lines."""


def log_of(ask: Ask, overview: Overview) -> LogView:
    """Return the last lines of the log; viewers do not see it, as errors may quote records."""
    kept = overview.kept
    if kept is None:
        host = overview.driver.host if overview.driver else "its machine"
        why = f"it runs on `{host}` without a keeper here: its log is in that terminal or container"
        return LogView(lines=(), where=None, why_not=why)
    where = str(kept.folder.log)
    if ask.user.role < Role.OPERATOR:
        return LogView(lines=(), where=where, why_not="operators see it")
    try:
        lines = _last_lines(kept.folder.log)
    except OSError as err:
        return LogView(lines=(), where=where, why_not=err.strerror or str(err))
    return LogView(lines=lines, where=where, why_not=None)


def _last_lines(path: Path) -> tuple[str, ...]:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _BYTES))
        text = file.read().decode(errors="replace")
    return tuple(text.splitlines()[-_LINES:])
