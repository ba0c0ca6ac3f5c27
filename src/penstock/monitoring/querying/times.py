"""Times in queries: durations and intervals of ISO 8601."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock.monitoring.querying.errors import QueryError

_DURATION = re.compile(
    r"P(?!$)(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?!$)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?"
)
_NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From when to when: the end is not part of it."""

    since: datetime
    until: datetime


def parsed_duration(text: str) -> timedelta:
    """Return the duration that `text` is, such as `PT1H` or `P1DT12H`.

    Raises:
        QueryError: it is none, or has months or years, whose lengths differ.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        reason = f"`{text}` is not a duration such as `PT1M`, `PT1H30M` or `P7D`"
        raise QueryError(reason)
    try:
        return timedelta(**{unit: int(number or 0) for unit, number in found.groupdict().items()})
    except OverflowError as err:
        reason = f"`{text}` is longer than any interval"
        raise QueryError(reason) from err


def parsed_interval(text: str, *, now: datetime) -> Interval:
    """Return the interval that `text` is: `start/end`, `start/duration` or `duration/end`.

    Raises:
        QueryError: it is none, or it is empty, or a time has no offset.
    """
    first, slash, second = text.partition("/")
    if not slash or "/" in second:
        reason = f"`{text}` is not an interval such as `2026-05-04T12:00:00Z/PT1H`"
        raise QueryError(reason)
    try:
        if first.startswith("P"):
            until = _moment(second, now)
            since = until - parsed_duration(first)
        else:
            since = _moment(first, now)
            is_length = second.startswith("P")
            until = since + parsed_duration(second) if is_length else _moment(second, now)
    except OverflowError as err:
        reason = f"`{text}` leaves the years that there are"
        raise QueryError(reason) from err
    if until <= since:
        reason = f"the interval `{text}` ends before it begins"
        raise QueryError(reason)
    return Interval(since=since, until=until)


def _moment(text: str, now: datetime) -> datetime:
    if text == _NOW:
        return now
    try:
        at = datetime.fromisoformat(text)
    except ValueError as err:
        reason = f"`{text}` is not a time such as `2026-05-04T12:00:00Z`"
        raise QueryError(reason) from err
    if at.tzinfo is None:
        reason = f"the time `{text}` has no offset; `Z` behind it means UTC"
        raise QueryError(reason)
    return at.astimezone(UTC)
