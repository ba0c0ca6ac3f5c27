"""How figures, ages and moments are written for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from penstock.monitoring.catalog import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

_KILO, _KIBI = 1000.0, 1024.0
_DECIMAL = ("", " k", " M", " G", " T")
_BINARY = (" B", " KiB", " MiB", " GiB", " TiB", " PiB")
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


def amount(value: float | None, unit: Unit) -> str:
    """Return a value with its unit, short enough for a table: `1.2 k/s`, `3.4 MiB`, `12 ms`."""
    if value is None:
        return "-"
    match unit:
        case Unit.BYTES:
            return _scaled(value, _KIBI, _BINARY)
        case Unit.BYTES_PER_SECOND:
            return _scaled(value, _KIBI, _BINARY) + "/s"
        case Unit.RECORDS_PER_SECOND | Unit.PER_SECOND:
            return _scaled(value, _KILO, _DECIMAL) + "/s"
        case Unit.SECONDS:
            return duration(value)
        case Unit.RATIO:
            return f"{value * 100:.3g} %"
        case Unit.OFFSET:
            return f"{value:.0f}"
        case _:
            return _scaled(value, _KILO, _DECIMAL)


def count(value: float | None) -> str:
    """Return a whole number with all its digits: `12,345`."""
    return "-" if value is None else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """Return a time that passes: `3.2 ms`, `4.1 s`, `5 min`, `2 h 10 min`, `3 d 4 h`."""
    if seconds is None:
        return "-"
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < _MINUTE:
        return f"{seconds:.3g} s"
    if seconds < _HOUR:
        return _two(seconds, _MINUTE, "min", 1.0, "s")
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    return _two(seconds, _DAY, "d", _HOUR, "h")


def moment(at: datetime | None) -> str:
    """Return a moment in UTC, to the second."""
    return "-" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def age(at: datetime | None, now: datetime) -> str:
    """Return how long ago a moment was."""
    return "never" if at is None else f"{duration(max(0.0, (now - at).total_seconds()))} ago"


def said(sentence: object) -> Markup:
    """Return a sentence with what stands between backticks as code, all of it escaped."""
    parts = str(sentence).split("`")
    if len(parts) % 2 == 0:  # one stands alone: it is no mark
        return escape(sentence)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def _two(seconds: float, big: float, big_unit: str, small: float, small_unit: str) -> str:
    whole, rest = divmod(seconds, big)
    parts = int(rest // small)
    return f"{whole:.0f} {big_unit}" + (f" {parts} {small_unit}" if parts else "")


def _scaled(value: float, step: float, units: Sequence[str]) -> str:
    size, place = abs(value), 0
    while size >= step and place < len(units) - 1:
        size, place = size / step, place + 1
    sign = "-" if value < 0 else ""
    digits = f"{size:.0f}" if size >= 100 or size == int(size) else f"{size:.3g}"
    return f"{sign}{digits}{units[place]}"
