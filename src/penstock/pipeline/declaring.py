"""The functions that a project calls: each declares one dataset or flow, and does nothing else.

A declaration with a wrong argument is kept as a problem while a project is loaded, so that all of
them can be shown together; anywhere else it is raised at once.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from penstock.errors import Origin, PenstockError
from penstock.pipeline.checking import checked
from penstock.pipeline.datasets import (
    Files,
    Lookup,
    LookupFile,
    LookupFunction,
    Rate,
    Socket,
    Table,
    Topic,
    View,
)
from penstock.pipeline.errors import DeclarationError, InvalidDeclarationError
from penstock.pipeline.flows import Flow
from penstock.pipeline.formats import Csv, Json, Orc, Parquet, Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from penstock.pipeline.datasets import Dataset
    from penstock.pipeline.formats import FileFormat, RecordFormat

Function = TypeVar("Function", bound=Callable[..., Any])
_Declared = TypeVar("_Declared")


@dataclass(slots=True)
class Collected:
    """What has been declared while a project is loaded, and what was wrong with it."""

    datasets: list[Dataset] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    problems: list[PenstockError] = field(default_factory=list)


_collected: ContextVar[Collected | None] = ContextVar("penstock_collected", default=None)


@contextmanager
def collecting() -> Iterator[Collected]:
    """Collect what is declared inside the `with` block."""
    collected = Collected()
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def topic(
    name: str,
    *,
    value: RecordFormat | None = None,
    key: str | Sequence[str] = (),
    key_format: RecordFormat | None = None,
    kafka_name: str | None = None,
    external: bool = False,
    partitions: int | None = None,
    replication: int | None = None,
    retention: str | None = None,
    compacted: bool = False,
    config: Mapping[str, str] | None = None,
    keys_may_move: bool = False,
    event_time: str | None = None,
    allowed_lateness: str = "0 seconds",
    start: str | datetime = "earliest",
    most_per_trigger: int | None = None,
    min_partitions: int | None = None,
    on_data_loss: str = "fail",
    description: str = "",
    owner: str | None = None,
    tags: Sequence[str] = (),
) -> None:
    """Declare a Kafka topic.

    Args:
        name: what flows call it; a Python identifier.
        value: the format of values, text by default.
        key: the column, or columns, that make the key when flows write it.
        key_format: the format of keys, text by default.
        kafka_name: what Kafka calls it, when that is not `name`.
        external: it is somebody else's: never create or alter it.
        partitions: how many; more than it has are added, fewer are refused.
        replication: copies of each partition; the cluster's default if not given.
        retention: how long records are kept, such as `7 days`.
        compacted: keep the last record of each key instead of a span of time.
        config: further topic configs by Kafka's names.
        keys_may_move: allow adding partitions to a keyed topic, which moves keys.
        event_time: the value's timestamp column by which windows and watermarks go.
        allowed_lateness: how much later than the newest event a record may come.
        start: where a flow's first start begins: `earliest`, `latest` or an aware datetime.
        most_per_trigger: at most about so many records per batch.
        min_partitions: read with at least so many tasks.
        on_data_loss: `fail` stops a flow whose unread records are gone; `continue` goes on.
        description: what the records are.
        owner: who answers for it.
        tags: words to find it by.
    """
    _dataset(
        Topic,
        name=name,
        value=Text() if value is None else value,
        key=key,
        key_format=Text() if key_format is None else key_format,
        kafka_name=name if kafka_name is None else kafka_name,
        external=external,
        partitions=partitions,
        replication=replication,
        retention=retention,
        compacted=compacted,
        config={} if config is None else config,
        keys_may_move=keys_may_move,
        event_time=event_time,
        allowed_lateness=allowed_lateness,
        start=start,
        most_per_trigger=most_per_trigger,
        min_partitions=min_partitions,
        on_data_loss=on_data_loss,
        description=description,
        owner=owner,
        tags=tags,
    )


def table(
    name: str,
    *,
    schema: str | None = None,
    key: str | Sequence[str] = (),
    partition_by: str | Sequence[str] = (),
    format: str = "delta",
    path: str | None = None,
    description: str = "",
    owner: str | None = None,
    tags: Sequence[str] = (),
) -> None:
    """Declare a table.

    Args:
        name: what flows call it.
        schema: its columns; those of the flow that writes it if not given.
        key: rows with the same key replace each other. Without a key rows are appended.
        partition_by: the columns by which its files are kept apart.
        format: `delta`, or `parquet` or `orc` for one flow that appends.
        path: a folder or URI other than the warehouse's.
        description: what the rows are.
        owner: who answers for it.
        tags: words to find it by.
    """
    _dataset(
        Table,
        name=name,
        schema=schema,
        key=key,
        partition_by=partition_by,
        format=format,
        path=path,
        description=description,
        owner=owner,
        tags=tags,
    )


def files(
    name: str,
    path: str,
    *,
    value: FileFormat,
    most_files_per_trigger: int | None = None,
    description: str = "",
    owner: str | None = None,
    tags: Sequence[str] = (),
) -> None:
    """Declare a watched folder: each file that is moved into it is read once.

    Args:
        name: what flows call it.
        path: the folder, or a glob; relative to the project.
        value: the format of its files.
        most_files_per_trigger: at most so many files per batch.
        description: what the files hold.
        owner: who answers for it.
        tags: words to find it by.
    """
    _dataset(
        Files,
        name=name,
        path=path,
        value=value,
        most_files_per_trigger=most_files_per_trigger,
        description=description,
        owner=owner,
        tags=tags,
    )


def socket(name: str, *, port: int, host: str = "127.0.0.1", description: str = "") -> None:
    """Declare lines from a TCP server, for trying things out: lost lines cannot be read again."""
    _dataset(Socket, name=name, host=host, port=port, description=description)


def rate(name: str, *, rows_per_second: int = 1, description: str = "") -> None:
    """Declare generated rows with the columns `timestamp` and `value`, for trying things out."""
    _dataset(Rate, name=name, rows_per_second=rows_per_second, description=description)


def view(function: Function) -> Function:
    """Declare a view: a function from datasets to a DataFrame that flows read by its name."""
    origin = _origin_of(function)
    _add(
        lambda: checked(
            View,
            origin=origin,
            name=function.__name__,
            description=_summary(function),
            function=function,
            reads=_parameters(function, what=f"view `{function.__name__}`", origin=origin),
        ),
        lambda collected, declared: collected.datasets.append(declared),
    )
    return function


def lookup(
    name: str,
    source: LookupFile | str | None = None,
    *,
    key: str | None = None,
    returns: str | None = None,
    reload_every: str | None = "10 seconds",
    description: str = "",
    owner: str | None = None,
    tags: Sequence[str] = (),
) -> Callable[[Function], Function]:
    """Declare reference data.

    With a `source` the flow's parameter is a DataFrame. Without one, decorate a function that gets
    the distinct keys of a batch and returns a mapping from key to column values; flows use it as
    `ps.enrich(frame, parameter)`.

    Args:
        name: what flows call it.
        source: `ps.csv_file(…)` and the like, or the name of a table or of a compacted topic.
        key: for a function: the column of the frame whose values it gets.
        returns: for a function: the columns it adds, such as `country string, city string`.
        reload_every: how often to look for a change; None keeps the version of the start.
        description: what it says.
        owner: who answers for it.
        tags: words to find it by.
    """
    described = {"name": name, "owner": owner, "tags": tags}
    if source is not None:
        _dataset(
            Lookup, source=source, reload_every=reload_every, description=description, **described
        )

    def decorate(function: Function) -> Function:
        origin = _origin_of(function)
        _add(
            lambda: checked(
                Lookup,
                origin=origin,
                source=checked(
                    LookupFunction, origin=origin, function=function, key=key, schema=returns
                ),
                reload_every=None,
                description=description or _summary(function),
                **described,
            ),
            lambda collected, declared: collected.datasets.append(declared),
        )
        return function

    return decorate


def csv_file(path: str, schema: str, *, separator: str = ",", header: bool = False) -> LookupFile:
    """Reference data in a CSV file; relative paths start at the project."""
    return LookupFile(path=path, format=Csv(schema=schema, separator=separator, header=header))


def json_file(path: str, schema: str) -> LookupFile:
    """Reference data in a file of JSON lines; relative paths start at the project."""
    return LookupFile(path=path, format=Json(schema))


def parquet_file(path: str, schema: str) -> LookupFile:
    """Reference data in a Parquet file or folder; relative paths start at the project."""
    return LookupFile(path=path, format=Parquet(schema))


def orc_file(path: str, schema: str) -> LookupFile:
    """Reference data in an ORC file or folder; relative paths start at the project."""
    return LookupFile(path=path, format=Orc(schema))


def flow(
    *,
    into: str | Mapping[str, str],
    name: str | None = None,
    trigger: str | None = None,
    output_mode: str | None = None,
    delivery: str = "at_least_once",
    conf: Mapping[str, str] | None = None,
) -> Callable[[Function], Function]:
    """Declare a flow: a function whose parameters are the names of the datasets it reads.

    The function stays what it is and can be called in a test with DataFrames.

    Args:
        into: the dataset it writes; or datasets by route, when rows say by `_route` where they go.
        name: of the flow, when it is not that of the function.
        trigger: None for one batch after the other, a span such as `10 seconds`, `available_now`,
            or `real_time`.
        output_mode: `append`, `update` or `complete`, as Spark means them; by default `append`,
            in real time `update`.
        delivery: `at_least_once`.
        conf: Spark settings of this flow alone.
    """

    def decorate(function: Function) -> Function:
        origin = _origin_of(function)
        flow_name = function.__name__ if name is None else name
        _add(
            lambda: checked(
                Flow,
                origin=origin,
                name=flow_name,
                function=function,
                reads=_parameters(function, what=f"flow `{flow_name}`", origin=origin),
                targets=into,
                trigger=trigger,
                output_mode=output_mode or ("update" if trigger == "real_time" else "append"),
                delivery=delivery,
                conf={} if conf is None else conf,
                description=_summary(function),
            ),
            lambda collected, declared: collected.flows.append(declared),
        )
        return function

    return decorate


def _dataset(cls: type[Any], **arguments: object) -> None:
    # Two frames up is the line that called `topic`, `table` and so on.
    origin = _caller(2)
    _add(
        lambda: checked(cls, origin=origin, **arguments),
        lambda collected, declared: collected.datasets.append(declared),
    )


def _add(declare: Callable[[], _Declared], keep: Callable[[Collected, _Declared], None]) -> None:
    collected = _collected.get()
    if collected is None:
        declare()
        return
    try:
        keep(collected, declare())
    except ExceptionGroup as group:
        collected.problems.extend(cast("Sequence[DeclarationError]", group.exceptions))
    except DeclarationError as err:
        collected.problems.append(err)


def _parameters(function: Callable[..., Any], *, what: str, origin: Origin) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InvalidDeclarationError(
                what=what,
                argument=str(parameter),
                reason="each parameter must name a dataset",
                origin=origin,
            )
    return tuple(parameter.name for parameter in parameters)


def _summary(function: Callable[..., Any]) -> str:
    lines = (inspect.getdoc(function) or "").splitlines()
    return lines[0] if lines else ""


def _origin_of(function: Callable[..., Any]) -> Origin:
    code = inspect.unwrap(function).__code__
    return Origin(Path(code.co_filename), code.co_firstlineno)


def _caller(depth: int) -> Origin:
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - `inspect.stack` reads every source file on the way
    return Origin(Path(frame.f_code.co_filename), frame.f_lineno)
