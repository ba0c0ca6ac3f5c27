"""Spans of time, and moments, as people write them: `5 min`, `1 hour 30 minutes`, `7d`."""

import re
from datetime import UTC, datetime, timedelta

_UNIT_SECONDS = {
    "ms": 0.001,
    "millisecond": 0.001,
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
    "w": 604800,
    "week": 604800,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")

# A hundred years: beyond any retention, and within what dates and clients can count.
_LONGEST = timedelta(days=36_500)


def parse_span(text: str) -> timedelta | None:
    """Return the span that `text` says, or None when it says none."""
    rest, total = text.strip().lower(), 0.0
    if not rest:
        return None
    while rest:
        match = _PART.match(rest)
        unit = _unit_seconds(match[2]) if match else None
        if match is None or unit is None:
            return None
        total += float(match[1]) * unit
        if total > _LONGEST.total_seconds():
            return None
        rest = rest[match.end() :]
    return timedelta(seconds=total)


def parse_moment(text: str) -> datetime:
    """Return the moment that `text` names: a span ago, epoch milliseconds, or ISO-8601.

    Raises:
        ValueError, OverflowError, OSError: it names none, or one that no calendar has.
    """
    span = parse_span(text)
    if span is not None:
        return datetime.now(UTC) - span
    if re.fullmatch(r"[0-9]{10,}", text):  # fewer digits are more likely an offset or a date
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _unit_seconds(unit: str) -> float | None:
    word = unit.removesuffix("s") if len(unit) > 3 else unit  # `days`, but not `ds`
    return _UNIT_SECONDS.get(word)
