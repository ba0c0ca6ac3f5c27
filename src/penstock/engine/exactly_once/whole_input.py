"""Whether a Python worker has got all of the input of its task.

When a task fails or is cancelled on its way to Python, Spark closes the connection, and Arrow takes
that for the end of the stream. This harms no function that only computes, because nobody reads its
result. A lane, though, would commit the first part of its share as the whole.

Spark says behind the last batch that there is no more. `pyspark.worker` reads that when a function
is done; here it is looked at before. There is no public way to the stream, so it is taken from the
frame of `pyspark.worker.main`; if it is not there, no lane writes anything.

Runs in Python workers; whatever is imported here is imported there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from io import BufferedReader

_END_OF_STREAM = b"\xff\xff\xff\xfc"
"""`SpecialLengths.END_OF_STREAM` of PySpark's serializers, as it travels."""


class CutOffError(PenstockError):
    """The input of a task has ended before its end."""

    code = "PEN-367"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "the input of a task has ended early; nothing of it was written",
            hint="another error tells why: `penstock logs PIPELINE` shows it",
        )


class TaskInput:
    """The stream from which a task gets its rows."""

    def __init__(self) -> None:
        """Find it; call it in the thread in which Spark calls the function given to `mapInArrow`.

        Raises:
            CutOffError: it is not where PySpark had it.
        """
        self._stream = _stream()

    def ensure_whole(self) -> None:
        """Return when all input of the task was read. Call it, in any thread, when it has ended.

        Raises:
            CutOffError: there was more to come.
        """
        # It may have come in part, but that it has begun is enough: otherwise there is nothing.
        said = self._stream.peek(len(_END_OF_STREAM))[: len(_END_OF_STREAM)]
        if not said or not _END_OF_STREAM.startswith(said):
            raise CutOffError


def _stream() -> BufferedReader:
    frame = sys._getframe()  # noqa: SLF001 - there is no other way to a caller
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "main" and "infile" in frame.f_locals:
            return cast("BufferedReader", frame.f_locals["infile"])
    raise CutOffError
