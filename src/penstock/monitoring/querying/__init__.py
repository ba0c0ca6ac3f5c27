"""The metrics query API: a question in JSON, in the dialect of Confluent Cloud's Metrics API."""

from penstock.monitoring.querying.aliases import ALIASES, DIALECT, metric_named
from penstock.monitoring.querying.answering import Answer, answer, evaluated
from penstock.monitoring.querying.errors import QueryError
from penstock.monitoring.querying.question import (
    CLUSTER,
    GRANULARITIES,
    LABEL_PREFIX,
    Aggregator,
    QueryBody,
    Question,
    parsed_question,
    usual_aggregator,
)

__all__ = [
    "ALIASES",
    "CLUSTER",
    "DIALECT",
    "GRANULARITIES",
    "LABEL_PREFIX",
    "Aggregator",
    "Answer",
    "QueryBody",
    "QueryError",
    "Question",
    "answer",
    "evaluated",
    "metric_named",
    "parsed_question",
    "usual_aggregator",
]
