"""Places in a flow at which a batch fails when a test wants it to, and not before.

Spark ends all tasks of a batch with the first that fails: one that fails at once would take others
with it before they have written anything.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark import cloudpickle

if TYPE_CHECKING:
    from pathlib import Path

# Workers have this module no other way.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


@dataclass(frozen=True, kw_only=True)
class Trap:
    """Two files, as workers are other processes."""

    armed: Path
    sprung: Path

    @classmethod
    def arm(cls, folder: Path) -> Self:
        """Return a trap that holds whoever comes to it."""
        trap = cls(armed=folder / "armed", sprung=folder / "sprung")
        trap.armed.touch()
        return trap

    def spring(self) -> None:
        """Let whoever is in it, or will be, fail."""
        self.sprung.touch()

    def disarm(self) -> None:
        """Let everybody pass."""
        self.armed.unlink()

    def hold(self) -> None:
        """Return when the trap is armed no more; fail once it is sprung."""
        while self.armed.exists():
            assert not self.sprung.exists(), "trapped"
            time.sleep(0.05)
