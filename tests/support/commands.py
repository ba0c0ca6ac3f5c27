"""The installed `penstock` command, run as a user would run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PENSTOCK = str(Path(sys.executable).with_name("penstock"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the command printed
        """What it printed, read as JSON."""
        return json.loads(self.stdout)


@dataclass(frozen=True, slots=True)
class Penstock:
    """Runs commands in a folder and an environment of their own."""

    folder: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, timeout_seconds: float = 170, stdin: str = "") -> Outcome:
        done = subprocess.run(
            [PENSTOCK, *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def start(
        self,
        *arguments: str,
        stdout: IO[str] | int = subprocess.PIPE,
        stderr: IO[str] | int = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """Start a command and return its process."""
        return subprocess.Popen(
            [PENSTOCK, *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )
