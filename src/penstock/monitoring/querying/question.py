"""A query of metrics, from its JSON to what it asks of the history."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.monitoring.catalog import SERIES, MetricName, Unit
from penstock.monitoring.querying.aliases import metric_named
from penstock.monitoring.querying.errors import QueryError
from penstock.monitoring.querying.filters import Filter
from penstock.monitoring.querying.times import Interval, parsed_interval

CLUSTER = "resource.kafka.id"
"""The field that holds the id of the cluster."""

LABEL_PREFIX = "metric."
"""What stands before a label where it is a field."""

MOST_ROWS = 1000

GRANULARITIES = {
    "PT10S": timedelta(seconds=10),
    "PT20S": timedelta(seconds=20),
    "PT1M": timedelta(minutes=1),
    "PT2M": timedelta(minutes=2),
    "PT5M": timedelta(minutes=5),
    "PT10M": timedelta(minutes=10),
    "PT15M": timedelta(minutes=15),
    "PT30M": timedelta(minutes=30),
    "PT1H": timedelta(hours=1),
    "PT4H": timedelta(hours=4),
    "PT6H": timedelta(hours=6),
    "PT12H": timedelta(hours=12),
    "P1D": timedelta(days=1),
}
"""How far points may be apart, by ISO 8601."""

ALL = "ALL"
"""The granularity of one point for the whole interval."""


class Aggregator(StrEnum):
    """How the series of a group become one value for each step."""

    SUM = "SUM"
    """Of means; of counts how much they grew."""

    RATE = "RATE"
    """Growth per second: of counts only."""

    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"


class _Aggregation(BaseModel):
    model_config = ConfigDict(extra="forbid")
    metric: str
    agg: Aggregator | None = None


class QueryBody(BaseModel):
    """A query as it is sent."""

    model_config = ConfigDict(extra="forbid")
    aggregations: Annotated[list[_Aggregation], Field(min_length=1, max_length=1)]
    filter: Filter | None = None
    granularity: Literal[(*GRANULARITIES, ALL)]  # type: ignore[valid-type] # the keys, said once
    intervals: Annotated[list[str], Field(min_length=1, max_length=10)]
    group_by: list[str] = []
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    format: Literal["FLAT"] = "FLAT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query that can be answered."""

    metric: MetricName
    aggregator: Aggregator
    filter: Filter | None
    step: timedelta | None
    intervals: tuple[Interval, ...]
    group_by: tuple[str, ...]
    """Fields, in the order in which the query names them."""

    limit: int


def parsed_question(body: bytes, *, now: datetime) -> Question:
    """Return what a query asks.

    Raises:
        QueryError: it is no query; the first thing that is wrong is said.
    """
    try:
        read = QueryBody.model_validate_json(body)
    except ValidationError as err:
        raise QueryError(_sentence(err)) from err
    (aggregation,) = read.aggregations
    metric = metric_named(aggregation.metric)
    asked = read.filter.names() if read.filter else set()
    _check_fields(metric, [*read.group_by, *sorted(asked)])
    return Question(
        metric=metric,
        aggregator=aggregation.agg or usual_aggregator(metric),
        filter=read.filter,
        step=GRANULARITIES.get(read.granularity),
        intervals=tuple(parsed_interval(text, now=now) for text in read.intervals),
        group_by=tuple(dict.fromkeys(read.group_by)),
        limit=read.limit,
    )


def fields_of(metric: MetricName) -> tuple[str, ...]:
    """Return the fields that filters and groups of a metric may name."""
    return (CLUSTER, *(LABEL_PREFIX + label for label in SERIES[metric].series[metric]))


def _check_fields(metric: MetricName, names: list[str]) -> None:
    known = fields_of(metric)
    for name in names:
        if name not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            reason = f"`{metric}` has no field `{name}`; it has {listed}"
            raise QueryError(reason)


def usual_aggregator(metric: MetricName) -> Aggregator:
    """Return what makes sense of a metric: seconds and shares of several series have no sum."""
    entry = SERIES[metric]
    is_sum = entry.grows or entry.unit not in (Unit.SECONDS, Unit.RATIO, Unit.OFFSET)
    return Aggregator.SUM if is_sum else Aggregator.MAX


def _sentence(error: ValidationError) -> str:
    """Return what is wrong with a body, without pydantic's words for its own insides."""
    first = error.errors(include_url=False, include_input=False)[0]
    steps = [step for step in first["loc"] if step not in ("field", "not", "compound")]
    if not steps:
        return f"the query is not JSON of an object: {first['msg']}"
    place = ".".join(str(step) for step in steps)
    return f"`{place}` of the query: {first['msg'][0].lower()}{first['msg'][1:]}"
