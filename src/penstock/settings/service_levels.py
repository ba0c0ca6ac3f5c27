"""Service levels: what a pipeline promises, as `[[pipeline.service_levels]]` says it.

Here it is only known how a promise is written. How it is kept is measured in
`monitoring/service_levels.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from penstock.spans import parse_span

_WEEK_SECONDS = 7 * 86_400.0


class Measure(StrEnum):
    """What a service level is about."""

    LATENCY = "latency"
    """The share of records committed within the threshold after their timestamps."""

    LAG_SECONDS = "lag_seconds"
    """The share of time in which the oldest unread record is not older than the threshold."""

    AVAILABILITY = "availability"
    """The share of time in which the flow, or the pipeline's driver, runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevel:
    """One promise."""

    name: str
    measure: Measure
    share: float
    """Of records or of time: more than 0 and less than 1."""

    over_seconds: float
    """The time up to now that counts."""

    threshold_seconds: float | None = None
    """None for availability, which has none."""

    flow: str | None = None
    """None: the pipeline as a whole."""


class _Entry(BaseModel):
    """One `[[pipeline.service_levels]]` of the file."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    metric: Measure
    share: Annotated[float, Field(gt=0, lt=1)]
    over: str = "24 h"
    threshold: str | None = None
    flow: str | None = None

    def declared(self) -> ServiceLevel:
        """Return the promise that the rest of Penstock works with."""
        if (self.threshold is None) != (self.metric is Measure.AVAILABILITY):
            has = "has no" if self.metric is Measure.AVAILABILITY else "needs a"
            reason = f"`{self.name}`: {self.metric} {has} `threshold`"
            raise ValueError(reason)
        over = self._seconds("over", self.over)
        if not 60 <= over <= _WEEK_SECONDS:
            reason = f"`{self.name}`: `over` is from `1 min` to `7 days`, which the history keeps"
            raise ValueError(reason)
        return ServiceLevel(
            name=self.name,
            measure=self.metric,
            share=self.share,
            over_seconds=over,
            threshold_seconds=self._seconds("threshold", self.threshold)
            if self.threshold is not None
            else None,
            flow=self.flow,
        )

    def _seconds(self, key: str, text: str) -> float:
        span = parse_span(text)
        if span is None or not span:
            reason = f"`{self.name}`: `{key}` is a time such as `2 ms` or `24 h`, not `{text}`"
            raise ValueError(reason)
        return span.total_seconds()


def _levels(given: object) -> object:
    """Build service levels from tables, or from JSON in an environment variable."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            reason = "it must be a JSON array of objects"
            raise ValueError(reason) from None
    if not isinstance(given, list):
        return given
    if not all(isinstance(item, Mapping) for item in given):
        reason = "each service level must be a table: `[[pipeline.service_levels]]`"
        raise ValueError(reason)
    levels = tuple(_level(item) for item in given)
    names = [level.name for level in levels]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        reason = f"two service levels are called `{twice}`"
        raise ValueError(reason)
    return levels


def _level(item: Mapping[str, Any]) -> ServiceLevel:
    try:
        return _Entry.model_validate(item).declared()
    except ValidationError as err:
        first = err.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        reason = f"`{item.get('name', '')}`: `{place}`: {first['msg'].lower()}"
        raise ValueError(reason) from None


def shown_level(level: ServiceLevel) -> str:
    """Return a promise in words: `85 % of records within 2 ms, over 24 h`."""
    share = f"{level.share * 100:g} %"
    over = f"over {_span(level.over_seconds)}"
    of = f" of `{level.flow}`" if level.flow else ""
    threshold = _span(level.threshold_seconds or 0)
    match level.measure:
        case Measure.LATENCY:
            return f"{share} of records{of} within {threshold}, {over}"
        case Measure.LAG_SECONDS:
            return f"{share} of the time nothing unread{of} is older than {threshold}, {over}"
        case Measure.AVAILABILITY:
            runs = f"`{level.flow}` runs" if level.flow else "it runs"
            return f"{share} of the time {runs}, {over}"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= size and seconds % size == 0:
            # A day is a day, but people say 24 hours.
            return "24 h" if seconds == 86_400 else f"{seconds / size:g} {unit}"
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms"


ServiceLevels = Annotated[tuple[ServiceLevel, ...], BeforeValidator(_levels)]
