"""Reloading: looks for new versions of lookups, and has the flows that use them restarted."""

from __future__ import annotations

import logging
import time
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Self

from penstock.errors import PenstockError
from penstock.pipeline import Lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.engine.lookups import LookupChange
    from penstock.names import DatasetName, FlowName
    from penstock.pipeline import Flow, Pipeline

    Changes = Callable[[Mapping[DatasetName, str]], Sequence[LookupChange]]
    """Compares versions of lookups with those that are there now."""

    Reload = Callable[[FlowName, Sequence[LookupChange]], None]
    """Finishes the running batch and starts the flow again; called from the watch's thread."""

logger = logging.getLogger(__name__)

_END_SECONDS = 5.0
"""How long a look that is under way may hold up the end of a run."""


class LookupWatch:
    """A thread that looks at every lookup in use as often as its `reload_every` says.

    A source that cannot be read is told in the log and looked at again: the flow goes on with the
    version it has.
    """

    def __init__(self, pipeline: Pipeline, changes: Changes, reload: Reload) -> None:
        self._changes, self._reload = changes, reload
        self._every = {
            item.name: item.reload_every.total_seconds()
            for item in pipeline.datasets
            if isinstance(item, Lookup) and item.reload_every is not None
        }
        self._due = {name: time.monotonic() + every for name, every in self._every.items()}
        self._used: dict[FlowName, Mapping[DatasetName, str]] = {}
        self._guard, self._stopping = Lock(), Event()
        self._thread: Thread | None = None

    def use(self, flow: Flow, versions: Mapping[DatasetName, str]) -> None:
        """Note which versions `flow` has been started with; watching begins with the first."""
        with self._guard:
            self._used[flow.name] = versions
            if self._due and self._thread is None:
                self._thread = Thread(target=self._serve, name="penstock-lookups", daemon=True)
                self._thread.start()

    def __enter__(self) -> Self:
        """Return itself; the thread starts when there is something to watch."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def _serve(self) -> None:
        try:
            self._watch()
        except Exception:  # the top of a thread: the run goes on with the versions it has
            logger.exception("lookups are no longer watched")

    def _watch(self) -> None:
        while not self._stopping.wait(max(0.0, min(self._due.values()) - time.monotonic())):
            now = time.monotonic()
            due = {name for name, moment in self._due.items() if moment <= now}
            with self._guard:
                used = dict(self._used)
            for flow, versions in used.items():
                looked_at = {name: versions[name] for name in due if name in versions}
                if looked_at:
                    self._look(flow, versions, looked_at)
            self._due |= {name: time.monotonic() + self._every[name] for name in due}

    def _look(
        self,
        flow: FlowName,
        used: Mapping[DatasetName, str],
        looked_at: Mapping[DatasetName, str],
    ) -> None:
        try:
            changes = self._changes(looked_at)
        except PenstockError as err:
            logger.warning("a lookup cannot be read", extra={"flow": flow, "reason": err.message})
            return
        with self._guard:
            # Looking takes time, in which the flow may have been started with the new versions.
            is_current = self._used[flow] is used
            if changes and is_current and not self._stopping.is_set():
                self._reload(flow, changes)
