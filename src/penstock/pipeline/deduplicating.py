"""Removing records that were sent twice: a producer that got no answer sends a record again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.spans import parse_span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

_DELAY = "spark.watermarkDelayMs"


class UnboundedDuplicatesError(UsageError):
    """Nothing says how long records must be remembered, or it is too short."""

    code = "PEN-333"

    def __init__(self, by: Sequence[str], *, within: str, found: str) -> None:
        super().__init__(
            f"duplicates by `{', '.join(by)}` within {within} cannot be found: {found}",
            hint=f'declare `event_time=` and `allowed_lateness="{within}"` on the topic',
        )


class InvalidSpanError(UsageError):
    """A text says no span of time."""

    code = "PEN-334"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"`{text}` is no span of time", hint='write a number and a unit, such as "10 minutes"'
        )


def deduplicate(*, by: str | Sequence[str], within: str) -> Callable[[DataFrame], DataFrame]:
    """Return what removes rows whose columns `by` came before; use it with `DataFrame.transform`.

        orders.transform(ps.deduplicate(by="id", within="10 minutes"))

    Of rows whose event times are no further apart than `within` the first one stays. Spark
    remembers the columns for as long as the topic's `allowed_lateness` says, which must be no
    shorter, and a while longer: rows that are further apart may count as duplicates too, so
    `by` must name what is never used twice on purpose. A frame that is no stream is looked at as
    a whole.

    Args:
        by: a column, or several.
        within: a span of event time.

    Raises:
        InvalidSpanError: `within` is no span.
    """
    span = parse_span(within)
    if not span:
        raise InvalidSpanError(within)
    columns = [by] if isinstance(by, str) else list(by)

    def first_ones(frame: DataFrame) -> DataFrame:
        if not frame.isStreaming:
            return frame.dropDuplicates(columns)
        remembered = _remembered(frame)
        if remembered is None:
            raise UnboundedDuplicatesError(columns, within=within, found="there is no event time")
        if remembered < span:
            found = f"records are remembered for {remembered}"
            raise UnboundedDuplicatesError(columns, within=within, found=found)
        return frame.dropDuplicatesWithinWatermark(columns)

    return first_ones


def _remembered(frame: DataFrame) -> timedelta | None:
    """Return how far behind the newest event time the watermark of `frame` is."""
    delays = [field.metadata[_DELAY] for field in frame.schema if _DELAY in field.metadata]
    return timedelta(milliseconds=delays[0]) if delays else None
