"""Why a component ended, in words for the status page, from its status and what it left behind.

A foreign process that dies has no error code to give; the texts looked for here are those of the
JVM, of Kafka 4.3 and of Spark 4.2, and what is not recognized is quoted.
"""

import re
import signal
from pathlib import Path

from penstock.local.broker import Component, Folders
from penstock.local.ports import holder_of, is_free

_TAIL_BYTES = 64 * 1024
_CAUSE = re.compile(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (?P<text>.+)$")
_BAD_LINE = re.compile(r"^\[[^\]]*\] (?:ERROR|FATAL) (?P<text>.*?)(?: \([\w.$]+\))?$")


def log_size(folders: Folders, component: Component) -> int:
    """Return how long the log of `component` is now: where the words of the next run begin."""
    path = folders.log(component.name)
    return path.stat().st_size if path.exists() else 0


def describe_exit(folders: Folders, component: Component, status: int, *, log_start: int) -> str:
    """Return why the process of `component` ended with `status`.

    Args:
        folders: where its files are.
        component: which.
        status: as `subprocess` gives it: negative for a signal.
        log_start: the size of its log when this run began; what stands before is another run's.
    """
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    text = _words_of_this_run(folders, component, log_start)
    if "Address already in use" in text:
        return _port_reason(component)
    if "No space left on device" in text:
        return f"the disk of `{folders.data(component)}` is full"
    if "OutOfMemoryError" in text or "insufficient memory for the Java Runtime" in text:
        return "out of memory: raise `platform.heap_mb` or free memory on this machine"
    if "InconsistentClusterIdException" in text:
        return f"`{folders.data(component)}` holds the data of another cluster"
    quoted = _last_bad_line(text)
    log = folders.log(component.name)
    return f"exit status {status}: {quoted} (see `{log}`)" if quoted else f"exit status {status}"


def _port_reason(component: Component) -> str:
    taken = [port for port in component.ports if not is_free(port)]
    port = taken[0] if taken else component.port
    return f"port {port} is held by {holder_of(port)}"


def _words_of_this_run(folders: Folders, component: Component, log_start: int) -> str:
    log, output = folders.log(component.name), folders.output(component)
    return "\n".join(
        _tail(path, start) for path, start in ((log, log_start), (output, 0)) if path.exists()
    )


def _tail(path: Path, start: int) -> str:
    size = path.stat().st_size
    if start > size:
        start = 0  # the log was rotated meanwhile
    with path.open("rb") as file:
        file.seek(max(start, size - _TAIL_BYTES))
        return file.read().decode(errors="replace")


def _last_bad_line(text: str) -> str | None:
    """Return the last complaint: the cause at the end of its stack trace, if it has one."""
    complaint = None
    for line in text.splitlines():
        if match := _BAD_LINE.match(line) or (_CAUSE.match(line) if complaint else None):
            complaint = match["text"].rstrip()
    return complaint
