"""What metrics were: a week of every series in one SQLite file, and the reading of it."""

from penstock.monitoring.history.errors import (
    HistoryInUseError,
    HistoryReadError,
    HistoryWriteError,
)
from penstock.monitoring.history.history import History
from penstock.monitoring.history.series import Point, Series, Where

__all__ = [
    "History",
    "HistoryInUseError",
    "HistoryReadError",
    "HistoryWriteError",
    "Point",
    "Series",
    "Where",
]
