"""Flows: a function from DataFrames to a DataFrame, the dataset it writes, and how it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from penstock.errors import Origin
from penstock.names import DatasetName, FlowName
from penstock.pipeline.datasets import is_identifier
from penstock.spans import parse_span

ROUTE_COLUMN = "_route"
RECORD_COLUMN = "_record"
HEADERS_COLUMN = "_headers"
RESERVED_COLUMNS = (ROUTE_COLUMN, RECORD_COLUMN, HEADERS_COLUMN)
"""Columns that speak of the record and never reach a value."""


class OutputMode(StrEnum):
    """Which rows of its result a flow writes after each batch, in Spark's words."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class Delivery(StrEnum):
    """What is promised about each record that a flow writes to a topic."""

    EXACTLY_ONCE = "exactly_once"
    """For readers that see committed records alone, as Kafka's clients call it."""

    AT_LEAST_ONCE = "at_least_once"
    """After a failure some records may be there twice."""

    AT_MOST_ONCE = "at_most_once"
    """After a failure some records may be missing: what was begun is not begun again."""


class Nondeterminism(StrEnum):
    """What becomes of a flow whose rows may be others when a batch is run again."""

    REFUSE = "refuse"
    """It is not started if its rows would then be lost or written twice."""

    PERSIST = "persist"
    """Each batch is kept in files before any of it is written; run again, it is what they hold."""


@dataclass(frozen=True, slots=True)
class Continuously:
    """Start the next batch as soon as the last one is done and there is something to read."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Start a batch each `every`."""

    every: timedelta


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """Read what is there at the start, in as many batches as that takes, and end."""


@dataclass(frozen=True, slots=True)
class RealTime:
    """Spark's real-time mode: record by record, with progress kept each `checkpoint_every`.

    Records wait for most of a second while progress is kept. Once in two minutes that is one record
    in two hundred or so; progress, lag and dead letters are told as rarely.
    """

    checkpoint_every: timedelta = timedelta(minutes=2)


Trigger = Continuously | Interval | AvailableNow | RealTime


def _as_trigger(value: object) -> object:
    if value is None:
        return Continuously()
    named: dict[object, Trigger] = {"available_now": AvailableNow(), "real_time": RealTime()}
    if value in named:
        return named[value]
    span = parse_span(value) if isinstance(value, str) else None
    if not span:
        reason = (
            f"`{value}` is neither a span such as `10 seconds`, nor `available_now` or `real_time`"
        )
        raise ValueError(reason)
    return Interval(span)


ONLY_TARGET = ""
"""The route of a flow that writes one dataset and needs no `_route` column."""


def _as_targets(value: object) -> object:
    if isinstance(value, str):
        return {ONLY_TARGET: value}
    if not isinstance(value, Mapping) or not value or ONLY_TARGET in value:
        reason = f"`{value!r}` is neither the name of a dataset, nor names by route"
        raise ValueError(reason)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How the rows of a flow change those of its table: the newest change of a key counts."""

    keys: tuple[str, ...]
    sequence_by: str
    """A SQL expression that orders the changes of a key."""
    deletes: str | None = None
    """A SQL condition: such a change removes the row of its key."""
    columns: tuple[str, ...] | None = None
    """What the table gets; None: all columns, but for `except_columns`."""
    except_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What one streaming query does."""

    name: Annotated[FlowName, AfterValidator(is_identifier)]
    origin: Origin
    function: Callable[..., Any]
    reads: tuple[DatasetName, ...]
    """The function's parameters without defaults; each is given by its name."""

    targets: Annotated[Mapping[str, DatasetName], BeforeValidator(_as_targets)]
    """Datasets by route; a single target has the route `ONLY_TARGET`."""

    trigger: Annotated[Trigger, BeforeValidator(_as_trigger)] = field(default_factory=Continuously)
    output_mode: OutputMode = OutputMode.APPEND
    delivery: Delivery = Delivery.EXACTLY_ONCE
    nondeterministic: Nondeterminism = Nondeterminism.REFUSE
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark settings of this flow's query alone."""
    description: str = ""

    consults: tuple[DatasetName, ...] = ()
    """What it reads as a whole, for each batch anew."""
    is_declarative: bool = False
    """Whether the function has no parameters, and reads datasets from the session by name."""
    refresh: timedelta | None = None
    """Of a flow that computes its table as a whole, which is no stream: how often at most."""
    changes: Changes | None = None
    """None: rows are appended, or replaced by the key of the table."""

    @property
    def is_routed(self) -> bool:
        """Whether rows say by `_route` where they go."""
        return ONLY_TARGET not in self.targets
