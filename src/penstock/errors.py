"""What Penstock raises: an error is a code, a message, a hint and, where there is one, an origin.

Each package defines its own errors beside the code that raises them, below one of the classes
here. The first digit of a code is its package:

    0 settings and other shared modules    4 kafka      7 registry
    1 pipeline                             5 local      8 delivery and connectors
    2 plan (220 to 249: control)           6 java       9 command line and console
    3 engine (390 to 399: clusters and deployment)

Every code has a page `docs/errors/PEN-nnn.md`; a test compares the two lists.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the user wrote what an error is about."""

    file: Path
    line: int | None = None

    def __str__(self) -> str:
        """Return `file:line`, as editors and terminals link it."""
        return str(self.file) if self.line is None else f"{self.file}:{self.line}"


class PenstockError(Exception):
    """Something went wrong that the user can understand and act on.

    The message starts in lower case, names the thing in backticks and gives what was found beside
    what was expected. The hint is a command, a setting or a file.
    """

    code: ClassVar[str]
    retryable: ClassVar[bool] = False
    """Whether the same call may succeed later without anybody changing anything."""

    wait_seconds: ClassVar[float | None] = None
    """Of what is nobody's failure and passes by itself: how long to wait before trying again."""

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str, origin: Origin | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.origin = origin

    def as_dict(self) -> dict[str, object]:
        """Return the fields that `--json` and the console show."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "origin": str(self.origin) if self.origin else None,
            "retryable": self.retryable,
        }


class UsageError(PenstockError):
    """The command or call itself is wrong: nothing was tried."""

    exit_status = 2
