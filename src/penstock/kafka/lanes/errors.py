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


class LaneExpiredError(ClusterError):
    """Kafka has ended the transaction of a lane, because it was open for too long."""

    code = "PEN-489"
    retryable = True

    def __init__(self, lane: Lane, *, seconds: float) -> None:
        super().__init__(
            f"lane `{lane.key}` had its transaction open for more than {seconds:.3g} s, so Kafka "
            "ended it; nothing of it was written",
            hint="its process stood still, or the brokers did: `penstock cluster describe`",
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


class LaneTooLongError(ClusterError):
    """A share of a batch takes longer than a transaction may, and cannot be written in parts."""

    code = "PEN-487"

    def __init__(self, lane: Lane, *, seconds: float) -> None:
        super().__init__(
            f"lane `{lane.key}` has more to write than a transaction of {seconds:.3g} s holds, and "
            "it has no parts; nothing of it was written",
            hint="read less at once (`most_per_trigger=` of the topic), or raise "
            "`transaction.max.timeout.ms` of the brokers",
        )


class LaneToBeKeptError(ClusterError):
    """A share of a batch takes longer than a transaction may; when it is kept it has parts."""

    code = "PEN-488"
    retryable = True

    def __init__(self, lane: Lane, *, seconds: float) -> None:
        super().__init__(
            f"lane `{lane.key}` has more to write than a transaction of {seconds:.3g} s holds; the "
            "batch is run again, kept in files and written in parts",
            hint="to spare it the second run, read less at once (`most_per_trigger=` of the topic)",
        )
