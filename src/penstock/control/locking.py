"""One run of a pipeline at a time: a lock beside its checkpoints, while they are on this machine.

The operating system lets go of the lock when the process ends, however it ends, so none is ever
left behind. Checkpoints elsewhere (`s3a://`, `hdfs://`) have no such lock here: there Spark itself
stops the second writer, at the first batch that both try to plan.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from penstock.control.errors import PipelineRunningError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.names import PipelineName


@contextmanager
def only_run(root: str, pipeline: PipelineName) -> Iterator[None]:
    """Be the only run of `pipeline` on the checkpoints below `root` while the block runs.

    Raises:
        PipelineRunningError: another process is.
    """
    folder = local_folder(root)
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{pipeline}.lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise PipelineRunningError(pipeline, pid=file.read().strip(), root=root) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def local_folder(root: str) -> Path | None:
    """Return the folder that `root` names on this machine, or None when it is elsewhere."""
    parts = urlsplit(root)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(root)
