"""The errors file of `penstock produce`: what did not arrive, and why, one JSON object per line.

Failed records can be sent again with `penstock produce --format records`. Lines that were never a
record stand there as they were read, under `input`.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from penstock.errors import UsageError
from penstock.kafka import outgoing_as_json

if TYPE_CHECKING:
    from penstock.cli.record_input import Line
    from penstock.errors import PenstockError
    from penstock.kafka import OutgoingRecord


class ErrorsFileError(UsageError):
    """The errors file cannot be written."""

    code = "PEN-942"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"errors file `{path}` {reason}",
            hint="name another with `--errors-file`",
        )


class ErrorsFile:
    """Appends to the file, which is created with the first entry. Threads may share it.

    A file that the user has named must be writable from the start. Otherwise it goes to the
    system's temporary folder when, with the first entry, `path` turns out not to be writable.
    """

    def __init__(self, path: Path, *, named: bool) -> None:
        if named and not path.parent.is_dir():
            raise ErrorsFileError(path, reason=f"needs the folder `{path.parent}`")
        if named and not _is_writable(path):
            raise ErrorsFileError(path, reason="could not be written")
        self._named = named
        self.path = path
        self.first: PenstockError | None = None
        self.record_count = self.line_count = 0
        self._lock = threading.Lock()
        self._file: TextIO | None = None

    def put_record(self, record: OutgoingRecord, error: PenstockError) -> None:
        """Put aside a record that was not delivered."""
        with self._lock:
            self.record_count += 1
            self._write(outgoing_as_json(record), error)

    def put_line(self, line: Line, error: PenstockError) -> None:
        """Put aside a line that is not a record."""
        try:
            entry = {"input": line.data.decode("utf-8")}
        except UnicodeDecodeError:
            entry = {"input_base64": base64.b64encode(line.data).decode("ascii")}
        with self._lock:
            self.line_count += 1
            self._write({**entry, "origin": str(line.origin)}, error)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()

    def _write(self, entry: dict[str, object], error: PenstockError) -> None:
        self.first = self.first or error
        if self._file is None:
            self._file = self._open()
        self._file.write(json.dumps(entry | {"error": error.as_dict()}) + "\n")

    def _open(self) -> TextIO:
        try:
            if not self._named and not _is_writable(self.path):
                # A folder of our own: others may have put a file of this name there.
                self.path = Path(tempfile.mkdtemp(prefix="penstock-")) / self.path.name
            return self.path.open("a", encoding="utf-8")
        except OSError as err:
            raise ErrorsFileError(self.path, reason=f"could not be written: {err}") from err


def _is_writable(path: Path) -> bool:
    return os.access(path if path.exists() else path.parent, os.W_OK)
