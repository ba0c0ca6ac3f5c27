"""Browsing: a few records of a topic at a time, newest first or onwards, within limits."""

from penstock.kafka.browsing.errors import RecordNotThereError
from penstock.kafka.browsing.lookup import find_record
from penstock.kafka.browsing.merging import Direction
from penstock.kafka.browsing.places import (
    AtOffset,
    Continued,
    Newest,
    Oldest,
    Place,
    Since,
)
from penstock.kafka.browsing.scanning import (
    Ended,
    Ending,
    Found,
    Limits,
    Scan,
    Scanned,
)

__all__ = [
    "AtOffset",
    "Continued",
    "Direction",
    "Ended",
    "Ending",
    "Found",
    "Limits",
    "Newest",
    "Oldest",
    "Place",
    "RecordNotThereError",
    "Scan",
    "Scanned",
    "Since",
    "find_record",
]
