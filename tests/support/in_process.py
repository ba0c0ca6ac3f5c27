"""The `penstock` command in this process: the same `main`, without starting Python each time."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from typing import TYPE_CHECKING

import pytest

from penstock.cli.main import main
from support.commands import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class PenstockInProcess:
    """Runs commands in a folder and an environment of their own, off a terminal."""

    folder: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, stdin: str = "") -> Outcome:
        out, err = TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True), StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["penstock", *arguments])
            typed = BytesIO(stdin.encode("utf-8", "surrogateescape"))
            patch.setattr(sys, "stdin", TextIOWrapper(typed, encoding="utf-8"))
            for name, value in self.environment.items():
                patch.setenv(name, value)
            with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
                main()
        status = ended.value.code
        assert isinstance(status, int)
        out.seek(0)
        return Outcome(status, out.buffer.read().decode("utf-8", "surrogateescape"), err.getvalue())
