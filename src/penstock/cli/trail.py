"""What commands change is put on the trail of the cluster, beside what was done in its console.

The trail says what was done and does not decide whether it may be: that is up to Kafka's own rules.
"""

from __future__ import annotations

import os
import platform
import pwd
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from penstock.cli.options import connection_of
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.control.trail import Trail
    from penstock.settings import Settings

# A cluster that has just done something answers at once; one that is away keeps nobody waiting.
_PATIENCE_SECONDS = 5.0

_CUT_SHORT = "Ctrl-C came before the outcome: it may have been done or begun."


@dataclass(frozen=True, slots=True)
class Deed:
    """What a command is about to do, called as the console calls it."""

    action: str
    """Such as `pause_flow`."""

    target: str
    """Such as `flow fraud/detect`."""


@contextmanager
def on_the_trail(settings: Settings, *deeds: Deed) -> Iterator[Callable[[Deed, str], None]]:
    """Put on the trail of the cluster what becomes of `deeds`.

    The block calls what it is given, with each deed and the sentence that says what was done or
    begun, as soon as it was. If it fails, the deeds that were not done are noted with the reason;
    not if nothing was tried, or nobody was there to hear of it. A trail that cannot be written
    undoes nothing and hides no error: stderr says that what was done is not on it.
    """
    from penstock.kafka import ClusterUnreachableError
    from penstock.local import PlatformNotRunningError

    left, pen = list(deeds), _Pen(settings)

    def did(deed: Deed, sentence: str) -> None:
        if deed in left:
            left.remove(deed)
        pen.note(deed, done=sentence)

    try:
        yield did
    except (UsageError, ClusterUnreachableError, PlatformNotRunningError):
        raise
    except PenstockError as err:
        for deed in left:
            pen.note(deed, refused=err.message)
        raise
    except KeyboardInterrupt:
        for deed in left:
            pen.note(deed, done=_CUT_SHORT)
        raise
    finally:
        pen.close()


class _Pen:
    """Writes the trail of one cluster until it cannot."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._trail: Trail | None = None
        self._is_broken = False

    def note(self, deed: Deed, *, done: str | None = None, refused: str | None = None) -> None:
        """Write an entry, or say once why that cannot be."""
        from penstock.control.trail import TrailEntry

        if self._is_broken:
            return
        entry = TrailEntry(
            at=datetime.now(UTC),
            who=_user(),
            role=None,
            address=platform.node() or "unknown",
            action=deed.action,
            target=deed.target,
            done=done,
            refused=refused,
        )
        try:
            self._opened().record(entry)
        except PenstockError as err:
            self._is_broken = True
            if refused is not None:
                return  # nothing has changed, and that is told by the error
            warning = click.style("warning", fg="yellow", bold=True)
            click.echo(f"{warning}: this is not on the trail: {err.message}", err=True)

    def close(self) -> None:
        """Close what is open."""
        if self._trail is not None:
            self._trail.close()

    def _opened(self) -> Trail:
        from penstock.control.trail import Trail

        if self._trail is None:
            connection = connection_of(self._settings)
            self._trail = Trail(connection.with_request_timeout(_PATIENCE_SECONDS))
        return self._trail


def _user() -> str:
    """Return who runs this process: not who the environment says, which anybody can set."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:  # a container may run under an id that has no name
        return f"uid {user}"
