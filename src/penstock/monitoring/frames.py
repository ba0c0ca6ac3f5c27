"""The time frames that graphs are shown for, and how fine each of them is."""

from dataclasses import dataclass
from datetime import timedelta

from penstock.monitoring.querying import GRANULARITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The time up to now that a graph shows, as a name in an address, and its step."""

    name: str
    title: str
    length: timedelta
    granularity: str
    """One of those that queries know; at most about 200 steps, which a graph can tell apart."""

    @property
    def step(self) -> timedelta:
        """How far points are apart."""
        return GRANULARITIES[self.granularity]

    @property
    def interval(self) -> str:
        """The frame as an interval of a query."""
        minutes = int(self.length.total_seconds() // 60)
        return f"PT{minutes}M/now"


FRAMES = (
    Frame(
        name="10m",
        title="10 minutes",
        length=timedelta(minutes=10),
        # Not the 10 seconds of samples: one that comes late would leave a step without any.
        granularity="PT20S",
    ),
    Frame(name="1h", title="1 hour", length=timedelta(hours=1), granularity="PT1M"),
    Frame(name="3h", title="3 hours", length=timedelta(hours=3), granularity="PT1M"),
    Frame(name="6h", title="6 hours", length=timedelta(hours=6), granularity="PT2M"),
    Frame(name="24h", title="24 hours", length=timedelta(hours=24), granularity="PT10M"),
    Frame(name="7d", title="7 days", length=timedelta(days=7), granularity="PT1H"),
)
DEFAULT_FRAME = FRAMES[1]


def frame_named(name: str) -> Frame | None:
    """Return the frame that an address means."""
    return next((frame for frame in FRAMES if frame.name == name), None)
