"""Failpoints in the processes of a pipeline; the product knows nothing of them.

Every Python process whose PYTHONPATH begins with this folder loads this file first: driver, daemon
and workers. It wraps some steps of the product when their modules are imported. A step that is
armed (a file named after it in `$HARNESS_FOLDER/armed`) happens to one process, once.

    HARNESS_FOLDER    where points are armed and told
    HARNESS_WITHOUT   `lease`: drivers do not care for one; `ledger`: lanes do not look
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_FOLDER = os.environ.get("HARNESS_FOLDER", "")
_WITHOUT = os.environ.get("HARNESS_WITHOUT", "").split(",")
_LEDGER = "_penstock.ledger"


def reach(point: str, flow: str) -> None:
    """Do what is armed for a step of a flow."""
    armed = Path(_FOLDER, "armed", point)
    try:
        order = json.loads(armed.read_text())
        if order["flow"] not in (flow, ""):
            return
        armed.rename(Path(_FOLDER, "claimed", point))  # of two processes, one succeeds
    except FileNotFoundError:
        return
    told = Path(_FOLDER, "told", point)
    unready = told.with_suffix(".new")
    unready.write_text(json.dumps({"pid": os.getpid(), "flow": flow}))
    unready.rename(told)
    match order["action"]:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "freeze":
            # In a session of its own it outlives its JVM, as on a machine that is cut off.
            os.setsid()
            os.kill(os.getpid(), signal.SIGSTOP)
        case "kill driver":
            for pid in json.loads(Path(_FOLDER, "driver.json").read_text()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(30)  # nothing more happens here: the JVM is gone, and ends its workers


class _Steps:
    """The client of a lane, with failpoints between its steps."""

    def __init__(self, client: Any, flow: str) -> None:  # noqa: ANN401 - the product's own
        self._client, self._flow = client, flow
        self._has_sent = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the client has
        return getattr(self._client, name)

    def begin_transaction(self) -> None:
        self._client.begin_transaction()
        self._has_sent = False
        reach("before send", self._flow)

    def produce(self, topic: str, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        if topic == _LEDGER:
            reach("before ledger", self._flow)
        self._client.produce(topic, *arguments, **options)
        if not self._has_sent:
            self._has_sent = True
            if Path(_FOLDER, "armed", "while sending").exists():
                self._client.flush(5)
                reach("while sending", self._flow)

    def flush(self, *arguments: float) -> int:
        reach("after send", self._flow)
        return int(self._client.flush(*arguments))

    def commit_transaction(self, *arguments: float) -> None:
        if Path(_FOLDER, "armed", "before commit").exists():
            self._client.flush(5)
            reach("before commit", self._flow)
        self._client.commit_transaction(*arguments)
        reach("after commit", self._flow)


def _in_lanes(module: ModuleType) -> None:
    writer: Any = module.__dict__["LaneWriter"]
    begin = writer.__init__

    def __init__(self: Any, connection: Any, lane: Any, **options: Any) -> None:  # noqa: ANN401, N807
        begin(self, connection, lane, **options)
        self._client = _Steps(self._client, lane.flow)

    writer.__init__ = __init__


def _in_the_ledger(module: ModuleType) -> None:
    if "ledger" in _WITHOUT:
        entry: Any = module.__dict__["LaneEntry"]
        _must_have(entry, "has_written")
        entry.has_written = lambda *_: False


def _in_the_driver(module: ModuleType) -> None:
    sink: Any = module.__dict__["LaneSink"]
    write = sink.write

    def reaching(self: Any, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        reach("before the lanes", self._flow)
        write(self, *arguments, **options)
        reach("before Spark's commit", self._flow)

    sink.write = reaching


def _in_contests(module: ModuleType) -> None:
    if "lease" in _WITHOUT:
        contest: Any = module.__dict__["Contest"]
        _must_have(contest, "_ensure_free")
        contest._ensure_free = lambda *_: None  # noqa: SLF001 - a patch


def _in_leases(module: ModuleType) -> None:
    if "lease" in _WITHOUT:
        lease: Any = module.__dict__["Lease"]
        _must_have(lease, "_look", "_renew", "release")
        lease._look = lambda *_: None  # noqa: SLF001 - patches
        lease._renew = lambda *_: 4.0  # noqa: SLF001
        lease.release = lambda *_: None


def _must_have(place: object, *names: str) -> None:
    for name in names:
        if not hasattr(place, name):
            sys.stderr.write(f"harness: {place} has no `{name}` any more\n")
            os._exit(70)


_PATCHES: dict[str, Callable[[ModuleType], None]] = {
    "penstock.kafka.lanes.writing": _in_lanes,
    "penstock.kafka.lanes.ledger": _in_the_ledger,
    "penstock.engine.exactly_once.sink": _in_the_driver,
    "penstock.control.acquiring": _in_contests,
    "penstock.control.leases": _in_leases,
}


class _Patching(Loader):
    """Loads a module as it would be, and patches it."""

    def __init__(self, loader: Loader, patch: Callable[[ModuleType], None]) -> None:
        self._loader, self._patch = loader, patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._patch(module)


class _Finder(MetaPathFinder):
    """Finds the modules that are patched, where the others look."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        patch = _PATCHES.get(fullname)
        if patch is None:
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(fullname, path, target)
                if spec is not None and spec.loader is not None:
                    spec.loader = _Patching(spec.loader, patch)
                    return spec
        return None


if _FOLDER:
    sys.meta_path.insert(0, _Finder())
