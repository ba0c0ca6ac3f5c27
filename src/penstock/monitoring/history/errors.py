"""What can be wrong with the file that the history is kept in."""

from pathlib import Path

from penstock.errors import PenstockError


class HistoryInUseError(PenstockError):
    """Another process keeps the history in the same file."""

    code = "PEN-640"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"another process writes the history of metrics in `{path}`",
            hint="stop the console that runs there, or give this one a folder of its own",
        )


class HistoryWriteError(PenstockError):
    """The file refuses values: the disk is full, or the folder may not be written."""

    code = "PEN-641"
    retryable = True

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"the history of metrics in `{path}` cannot be written: {reason}",
            hint="make room on the disk, or correct the rights of the folder; the values of "
            "this round are lost",
        )


class HistoryReadError(PenstockError):
    """The file cannot be read; a damaged one is replaced at the next round of values."""

    code = "PEN-642"
    retryable = True

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"the history of metrics in `{path}` cannot be read: {reason}",
            hint="try again; a damaged file is set aside and the history begins anew",
        )
