"""The kinds of faults, and how many of each a soak has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import cycle, islice
from typing import TYPE_CHECKING

from support.crash_harness.pipeline import FLOWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

LANE_POINTS = (
    "before send",
    "while sending",
    "after send",
    "before ledger",
    "before commit",
    "after commit",
)
DRIVER_POINTS = ("before the lanes", "before Spark's commit")


class Kind(StrEnum):
    """What is done."""

    WORKER_KILLED = "a Python worker is killed"
    WORKER_KILLED_AT = "the worker that writes is killed"
    WORKER_FROZEN_AT = "the worker that writes is frozen beyond its transaction's time-out"
    ZOMBIE_WORKER = "the worker that writes is frozen, its driver killed; it wakes up beside others"
    DRIVER_KILLED = "the driver is killed"
    DRIVER_KILLED_EARLY = "the driver is killed while it starts"
    DRIVER_KILLED_AT = "the driver is killed with its JVM"
    ZOMBIE_DRIVER = "the driver is frozen with all below it; it wakes up beside another one"
    BROKER_KILLED = "a broker is killed"
    NETWORK_CUT = "a broker refuses its clients"
    DISK_FULL = "the disk of the checkpoints is full"
    PLATFORM_KILLED = "all brokers and the driver are killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One of them."""

    kind: Kind
    point: str = ""
    """The step at which it happens; empty: at any moment."""

    flow: str = ""

    def __str__(self) -> str:
        """Return what the report of a soak says."""
        place = f", {self.point}" if self.point else ""
        return f"{self.kind}{place}{f' of {self.flow}' if self.flow else ''}"


SOAK: Mapping[Kind, int] = {
    Kind.WORKER_KILLED: 24,
    Kind.WORKER_KILLED_AT: 48,
    Kind.WORKER_FROZEN_AT: 2,
    Kind.ZOMBIE_WORKER: 1,
    Kind.DRIVER_KILLED: 1,
    Kind.DRIVER_KILLED_EARLY: 1,
    Kind.DRIVER_KILLED_AT: 8,
    Kind.ZOMBIE_DRIVER: 1,
    Kind.BROKER_KILLED: 8,
    Kind.NETWORK_CUT: 6,
    Kind.DISK_FULL: 3,
    Kind.PLATFORM_KILLED: 1,
}
"""A hundred that strike, and some more, as not all are sure to; most of those that cost seconds."""

DOZEN: Mapping[Kind, int] = {
    Kind.WORKER_KILLED: 1,
    Kind.WORKER_KILLED_AT: 6,
    Kind.DRIVER_KILLED_AT: 2,
    Kind.BROKER_KILLED: 1,
    Kind.NETWORK_CUT: 1,
    Kind.DISK_FULL: 1,
}

_POINTS: Mapping[Kind, tuple[str, ...]] = {
    Kind.WORKER_KILLED_AT: LANE_POINTS,
    Kind.WORKER_FROZEN_AT: ("while sending", "before ledger", "before commit"),
    Kind.ZOMBIE_WORKER: ("while sending", "before ledger", "before commit"),
    # Those that a dozen must have come first.
    Kind.DRIVER_KILLED_AT: (
        "before Spark's commit",
        "before commit",
        "before the lanes",
        *LANE_POINTS[:4],
        "after commit",
    ),
}


def drawn(counts: Mapping[Kind, int], dice: Random) -> list[Fault]:
    """Return so many faults of each kind, in an order that `dice` choose."""
    faults = [fault for kind, count in counts.items() for fault in islice(_some(kind, dice), count)]
    dice.shuffle(faults)
    return faults


def _some(kind: Kind, dice: Random) -> Iterator[Fault]:
    points = _POINTS.get(kind)
    if points is None:
        while True:
            yield Fault(kind=kind)
    flows = ["", *FLOWS]  # the first one: whichever gets there first
    dice.shuffle(flows)
    # Each step once before any comes again, with another flow then.
    for turn in cycle(range(len(flows))):
        for place, point in enumerate(points):
            yield Fault(kind=kind, point=point, flow=flows[(turn + place) % len(flows)])
