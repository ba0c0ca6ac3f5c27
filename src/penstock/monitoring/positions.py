"""Where flows stand in their topics: the offsets after the last batch that is committed."""

from threading import Lock

from penstock.engine.events import BatchFinished, Offsets
from penstock.names import FlowName


class Positions:
    """The position of each flow; any thread may tell and ask, and nobody waits for long."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_flow: dict[FlowName, Offsets] = {}

    def begin(self, flow: FlowName, position: Offsets) -> None:
        """Set where `flow` resumes."""
        with self._lock:
            self._by_flow[flow] = dict(position)

    def move(self, event: BatchFinished) -> None:
        """Move to where a batch ended; a topic that it did not read stays where it was."""
        with self._lock:
            position = dict(self._by_flow.get(event.flow, {}))
            for source in event.sources:
                position |= source.end
            self._by_flow[event.flow] = position

    def forget(self, flow: FlowName) -> None:
        """Drop the position of `flow`."""
        with self._lock:
            self._by_flow.pop(flow, None)

    def known(self) -> dict[FlowName, Offsets]:
        """Return the flows that read topics, each with its position."""
        with self._lock:
            return {flow: position for flow, position in self._by_flow.items() if position}
