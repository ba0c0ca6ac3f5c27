"""The functions that a project calls: each declares one dataset or flow, and does nothing else."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import Origin
from penstock.pipeline.checking import checked
from penstock.pipeline.collecting import add_dataset, add_flow, await_function
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
    kind_of,
)
from penstock.pipeline.errors import ContradictionError, InvalidDeclarationError
from penstock.pipeline.flows import Flow
from penstock.pipeline.formats import Csv, Json, Orc, Parquet, Text

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.pipeline.datasets import Dataset
    from penstock.pipeline.formats import FileFormat, RecordFormat

Function = TypeVar("Function", bound=Callable[..., Any])


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
        min_partitions: read with at least so many tasks; more than the topic has partitions read
            one of them in several ranges at once, which keeps no order.
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
        **({} if kafka_name is None else {"kafka_name": kafka_name}),
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
    name, origin = _name_of(function), _origin_of(function)
    what = f"view `{name}`"
    add_dataset(
        name,
        lambda: checked(
            View,
            what=what,
            origin=origin,
            name=name,
            description=_summary(function),
            function=function,
            reads=_parameters(function, what=what, origin=origin),
        ),
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
        reload_every: how often to look for a change of the source; None keeps what was there at
            the start. A function is asked in every batch.
        description: what it says.
        owner: who answers for it.
        tags: words to find it by.
    """
    described: dict[str, object] = {"name": name, "owner": owner, "tags": tags}
    function_settings = {"key": key, "returns": returns}
    place = _caller(1)
    if source is None:
        await_function(name, place)
    else:
        data = {"source": source, "reload_every": reload_every, "description": description}
        add_dataset(name, lambda: _lookup_of_data(place, function_settings, **data, **described))

    def decorate(function: Function) -> Function:
        origin = _origin_of(function)
        described["description"] = description or _summary(function)
        add_dataset(
            name,
            lambda: _lookup_by_function(function, source, origin, function_settings, **described),
        )
        return function

    return decorate


def _lookup_of_data(
    origin: Origin, function_settings: Mapping[str, str | None], **arguments: object
) -> Lookup:
    what = f"lookup `{arguments['name']}`"
    for argument, value in function_settings.items():
        if value is not None:
            raise ContradictionError(
                what=what,
                reason=f"`{argument}` is for a lookup by a function, but it has a source",
                hint=f"leave out `{argument}`; the source's schema has all columns",
                origin=origin,
            )
    return checked(Lookup, what=what, origin=origin, **arguments)


def _lookup_by_function(
    function: Callable[..., Any],
    source: object,
    origin: Origin,
    function_settings: Mapping[str, str | None],
    **arguments: object,
) -> Lookup:
    what = f"lookup `{arguments['name']}`"
    if source is not None:
        raise ContradictionError(
            what=what,
            reason="it has both a source and a function",
            hint="leave out the source, or do not use it as a decorator",
            origin=origin,
        )
    for argument, value in function_settings.items():
        if value is None:
            reason = "a lookup by a function needs it"
            raise InvalidDeclarationError(
                what=what, argument=argument, reason=reason, origin=origin
            )
    asked = checked(
        LookupFunction,
        what=what,
        origin=origin,
        function=function,
        key=function_settings["key"],
        schema=function_settings["returns"],
    )
    return checked(Lookup, what=what, origin=origin, source=asked, reload_every=None, **arguments)


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
    delivery: str | None = None,
    nondeterministic: str = "refuse",
    conf: Mapping[str, str] | None = None,
) -> Callable[[Function], Function]:
    """Declare a flow: a function whose parameters are the names of the datasets it reads.

    The function stays what it is and can be called in a test with DataFrames. A parameter with a
    default names no dataset; it is the function's own.

    Args:
        into: the dataset it writes; or datasets by route, when rows say by `_route` where they go.
        name: of the flow, when it is not that of the function.
        trigger: None for one batch after the other, a span such as `10 seconds`, `available_now`,
            or `real_time`.
        output_mode: `append`, `update` or `complete`, as Spark means them; by default `append`,
            in real time `update`.
        delivery: of records into topics, `exactly_once`, `at_least_once` or `at_most_once`; by
            default `exactly_once`, in real time `at_least_once`.
        nondeterministic: `persist` keeps each batch in files before it is written, for functions
            that give other rows when a batch is run again; `refuse` by default.
        conf: Spark settings of this flow alone.
    """

    def decorate(function: Function) -> Function:
        origin = _origin_of(function)
        flow_name = _name_of(function) if name is None else name
        what = f"flow `{flow_name}`"
        is_real_time = trigger == "real_time"
        add_flow(
            flow_name,
            lambda: checked(
                Flow,
                what=what,
                origin=origin,
                name=flow_name,
                function=function,
                reads=_parameters(function, what=what, origin=origin),
                targets=into,
                trigger=trigger,
                output_mode=output_mode or ("update" if is_real_time else "append"),
                delivery=delivery or ("at_least_once" if is_real_time else "exactly_once"),
                nondeterministic=nondeterministic,
                conf={} if conf is None else conf,
                description=_summary(function),
            ),
        )
        return function

    return decorate


def _dataset(cls: type[Dataset], **arguments: object) -> None:
    # Two frames up is the line that called `topic`, `table` and so on.
    origin, name = _caller(2), str(arguments["name"])
    what = f"{kind_of(cls)} `{name}`"
    add_dataset(name, lambda: checked(cls, what=what, origin=origin, **arguments))


def _parameters(function: Callable[..., Any], *, what: str, origin: Origin) -> tuple[str, ...]:
    """Return the parameters that name datasets; one with a default is the function's own."""
    parameters = inspect.signature(function).parameters.values()
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    for parameter in parameters:
        if parameter.kind not in by_name:
            raise InvalidDeclarationError(
                what=what,
                argument=str(parameter),
                reason="each parameter must name a dataset, and be given by name",
                origin=origin,
            )
    return tuple(item.name for item in parameters if item.default is Parameter.empty)


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


def _summary(function: Callable[..., Any]) -> str:
    lines = (inspect.getdoc(function) or "").splitlines()
    return lines[0] if lines else ""


def _origin_of(function: Callable[..., Any]) -> Origin:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:  # a callable object: where it is declared says more than where it is defined
        return _caller(2)
    return Origin(Path(code.co_filename), code.co_firstlineno)


def _caller(depth: int) -> Origin:
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - `inspect.stack` reads every source file on the way
    return Origin(Path(frame.f_code.co_filename), frame.f_lineno)
