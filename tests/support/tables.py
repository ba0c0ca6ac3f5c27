"""Tables for tests: topics nobody else uses, and programs that use tables."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator


def unused_topic() -> TopicName:
    """Return the name of a topic that does not exist."""
    return TopicName(f"table-{uuid4().hex}")


@contextmanager
def program(source: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python program as a process of its own; it is gone at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", source, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
