"""The answer to a query of metrics: the series of the history, grouped and aggregated."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.monitoring.catalog import SERIES, Labels
from penstock.monitoring.history import History, Point
from penstock.monitoring.querying.errors import QueryError
from penstock.monitoring.querying.filters import Fields
from penstock.monitoring.querying.question import CLUSTER, LABEL_PREFIX, Aggregator, Question

MOST_POINTS = 500_000
"""That one query may read: some seconds of work."""

Row = Mapping[str, str | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows of one page, in order of time and then of groups."""

    data: tuple[Row, ...]
    limit: int
    next_page_token: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the answer in the dialect's shape."""
        pagination: dict[str, object] = {"page_size": self.limit}
        if self.next_page_token:
            pagination["next_page_token"] = self.next_page_token
        return {"data": [dict(row) for row in self.data], "meta": {"pagination": pagination}}


def answer(
    question: Question, history: History, *, cluster_id: str, page_token: str | None = None
) -> Answer:
    """Return the page of the answer that `page_token` names, the first one without it.

    Raises:
        QueryError: the question asks for too much, or for a rate of what is no count.
        PenstockError: the history cannot be read.
    """
    begin = _offset(page_token) if page_token else 0
    values = evaluated(question, history, cluster_id=cluster_id)
    end = begin + question.limit
    keys = sorted(values)
    return Answer(
        data=tuple(_row(question, at, group, values[at, group]) for at, group in keys[begin:end]),
        limit=question.limit,
        next_page_token=_token(end) if len(keys) > end else None,
    )


def evaluated(
    question: Question, history: History, *, cluster_id: str, most_points: int = MOST_POINTS
) -> dict[tuple[datetime, tuple[str, ...]], float]:
    """Return every value that the answer consists of, by time and the values of `group_by`.

    Raises:
        QueryError: the question asks for more than `most_points`, or for a rate of what is no
            count.
        PenstockError: the history cannot be read.
    """
    entry = SERIES[question.metric]
    if question.aggregator is Aggregator.RATE and not entry.grows:
        reason = f"`{question.metric}` is a {entry.kind} and has no `RATE`"
        raise QueryError(reason)
    _check_size(question, history, cluster_id, most_points)
    groups: dict[tuple[datetime, tuple[str, ...]], list[float]] = {}
    for interval in question.intervals:
        for series in history.series(
            question.metric,
            lambda labels: _is_meant(question, labels, cluster_id),
            since=interval.since,
            until=interval.until,
            step=question.step,
        ):
            fields = _fields(series.labels, cluster_id)
            key = tuple(fields[name] for name in question.group_by)
            for point in series.points:
                value = _value(point, question.aggregator)
                groups.setdefault((point.at, key), []).append(value)
    # Sums of shares of growth end in dust far behind the point.
    return {
        key: round(_aggregated(values, question.aggregator), 9) for key, values in groups.items()
    }


def _row(question: Question, at: datetime, group: tuple[str, ...], value: float) -> Row:
    return {
        "timestamp": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "value": value,
        **dict(zip(question.group_by, group, strict=True)),
    }


def _aggregated(values: Sequence[float], aggregator: Aggregator) -> float:
    match aggregator:
        case Aggregator.SUM | Aggregator.RATE:
            return sum(values)
        case Aggregator.AVG:
            return sum(values) / len(values)
        case Aggregator.MIN:
            return min(values)
        case Aggregator.MAX:
            return max(values)


def _value(point: Point, aggregator: Aggregator) -> float:
    if aggregator is Aggregator.RATE:
        return point.value
    if point.growth is not None:
        return point.growth
    return {Aggregator.MIN: point.low, Aggregator.MAX: point.high}.get(aggregator, point.value)


def _check_size(question: Question, history: History, cluster_id: str, most_points: int) -> None:
    count = len(
        history.labels(question.metric, lambda labels: _is_meant(question, labels, cluster_id))
    )
    steps = sum(_steps(question, interval.since, interval.until) for interval in question.intervals)
    if count * steps > most_points:
        reason = (
            f"the query would read {count} series in {steps} steps, and {most_points:,} points is "
            "the most: filter, shorten the interval or take a coarser granularity"
        )
        raise QueryError(reason)


def _steps(question: Question, since: datetime, until: datetime) -> int:
    return 1 if question.step is None else int((until - since) / question.step) + 1


def _is_meant(question: Question, labels: Mapping[str, str], cluster_id: str) -> bool:
    return question.filter is None or question.filter.accepts(_fields(labels.items(), cluster_id))


def _fields(labels: Iterable[tuple[str, str]] | Labels, cluster_id: str) -> Fields:
    return {CLUSTER: cluster_id, **{LABEL_PREFIX + label: value for label, value in labels}}


def _token(offset: int) -> str:
    return base64.urlsafe_b64encode(str(offset).encode()).decode()


def _offset(token: str) -> int:
    try:
        offset = int(base64.urlsafe_b64decode(token))
    except (ValueError, binascii.Error) as err:
        reason = "`page_token` is none of an answer's"
        raise QueryError(reason) from err
    if offset < 0:
        reason = "`page_token` is none of an answer's"
        raise QueryError(reason)
    return offset
