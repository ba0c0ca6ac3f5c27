"""What can go wrong in a lane, beside what can go wrong with the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka.errors import ClusterError

if TYPE_CHECKING:
    from penstock.kafka.lanes.ledger import Lane


class LaneFencedError(ClusterError):
    """Another writer has opened the lane."""

    code = "PEN-485"
    retryable = True

    def __init__(self, lane: Lane) -> None:
        super().__init__(
            f"lane `{lane.key}` was taken over by another writer; nothing of this one was written",
            hint="if it goes on, another driver runs the same flow: `penstock list` shows it",
        )


class LaneTimeoutError(ClusterError):
    """The ledger could not be read up to its end in time."""

    code = "PEN-486"
    retryable = True

    def __init__(self, lane: Lane, *, waited_seconds: float, reason: str) -> None:
        because = f": {reason}" if reason else ""
        super().__init__(
            f"lane `{lane.key}` could not read the ledger within {waited_seconds:.3g} s{because}",
            hint="`penstock cluster describe` shows the state of the brokers",
        )
