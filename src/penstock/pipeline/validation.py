"""The first step of validation: the declarations alone, without Spark and without Kafka.

The second step, which needs Spark to analyze each flow, is `engine/analysis.py`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from penstock.errors import Origin, PenstockError
from penstock.names import DatasetName
from penstock.pipeline.circles import cycles
from penstock.pipeline.datasets import (
    Dataset,
    Lookup,
    Sink,
    Table,
    TableFormat,
    Topic,
    View,
    kind_of,
)
from penstock.pipeline.errors import (
    ContradictionError,
    MissingColumnError,
    MissingKeyColumnError,
    NameTakenError,
    NotWritableError,
    TableOwnedTwiceError,
    UnknownDatasetError,
)
from penstock.pipeline.flows import (
    RESERVED_COLUMNS,
    Flow,
    OutputMode,
    RealTime,
)
from penstock.pipeline.formats import Csv, Json, columns_of, types_of
from penstock.pipeline.registry_formats import Contract
from penstock.pipeline.schemas import column_names


def problems_of(
    datasets: Sequence[Dataset],
    flows: Sequence[Flow],
    *,
    failed: Collection[str] = (),
    complete: bool = True,
) -> list[PenstockError]:
    """Return everything that is wrong with these declarations.

    Args:
        datasets: what is declared.
        flows: what is declared.
        failed: names of datasets whose declaration is a problem already.
        complete: whether these are all declarations: only then an unknown name is a problem.
    """
    known = {dataset.name: dataset for dataset in datasets}
    return [
        *_names_taken(datasets, flows),
        *_kafka_names_taken(datasets),
        *(_unknown_names(datasets, flows, known, failed) if complete else ()),
        *cycles(datasets, flows),
        *(problem for dataset in datasets for problem in _of_dataset(dataset, known)),
        *(problem for flow in flows for problem in _of_flow(flow, known)),
        *_owned_twice(flows, known),
        *_folders_shared(flows, known),
        *_streams_of_replaced_rows(datasets, flows, known),
    ]


def _names_taken(datasets: Sequence[Dataset], flows: Sequence[Flow]) -> Iterator[PenstockError]:
    for what, items in (("dataset", datasets), ("flow", flows)):
        first: dict[str, Origin] = {}
        for item in items:
            if item.name in first:
                yield NameTakenError(
                    item.name, what=what, first=first[item.name], origin=item.origin
                )
            first.setdefault(item.name, item.origin)


def _kafka_names_taken(datasets: Sequence[Dataset]) -> Iterator[PenstockError]:
    first: dict[str, Topic] = {}
    for item in datasets:
        if not isinstance(item, Topic):
            continue
        other = first.setdefault(item.kafka_name, item)
        if other.name != item.name:
            yield NameTakenError(
                item.kafka_name, what="the Kafka topic", first=other.origin, origin=item.origin
            )


def _unknown_names(
    datasets: Sequence[Dataset],
    flows: Sequence[Flow],
    known: dict[DatasetName, Dataset],
    failed: Collection[str],
) -> Iterator[PenstockError]:
    for who, names, origin in _references(datasets, flows):
        for name in dict.fromkeys(names):
            if name not in {*known, *failed}:
                yield UnknownDatasetError(name, who=who, known={*known, *failed}, origin=origin)


def _references(
    datasets: Sequence[Dataset], flows: Sequence[Flow]
) -> Iterator[tuple[str, tuple[DatasetName, ...], Origin]]:
    for dataset in datasets:
        if isinstance(dataset, View):
            yield f"view `{dataset.name}`", dataset.reads, dataset.origin
        if isinstance(dataset, Lookup) and isinstance(dataset.source, str):
            yield f"lookup `{dataset.name}`", (dataset.source,), dataset.origin
    for flow in flows:
        yield f"flow `{flow.name}`", (*flow.reads, *flow.targets.values()), flow.origin


def _of_dataset(dataset: Dataset, known: dict[DatasetName, Dataset]) -> Iterator[PenstockError]:
    match dataset:
        case Topic():
            yield from topic_problems(dataset)
        case Table():
            yield from _of_table(dataset)
        case Lookup(source=str(source)) if source in known:
            yield from _of_lookup(dataset, known[DatasetName(source)])
        case View() if not dataset.reads and not dataset.is_declarative:
            yield ContradictionError(
                what=f"view `{dataset.name}`",
                reason="it has no parameters, so it reads nothing",
                hint="name the datasets it reads as its parameters",
                origin=dataset.origin,
            )
        case _:
            return


def topic_problems(topic: Topic) -> Iterator[PenstockError]:
    """Return contradictions; what a schema elsewhere decides is seen once it has been resolved."""
    who = f"topic `{topic.name}`"
    yield from _of_event_time(topic, who)
    for column in RESERVED_COLUMNS:
        if column in (columns_of(topic.value) or ()):
            yield ContradictionError(
                what=who,
                reason=f"`{column}` is a name that Penstock uses itself",
                hint="give the column another name",
                origin=topic.origin,
            )
    yield from _of_key(topic, who)
    yield from _of_topic_config(topic, who)
    if topic.compacted and not (topic.key or topic.external):
        yield ContradictionError(
            what=who,
            reason="it is compacted, which needs a key for every record",
            hint="name the key column with `key=`",
            origin=topic.origin,
        )


def _of_event_time(topic: Topic, who: str) -> Iterator[PenstockError]:
    columns = types_of(topic.value)
    if topic.event_time is None:
        if topic.allowed_lateness:
            yield ContradictionError(
                what=who,
                reason="it has an `allowed_lateness` but no `event_time`",
                hint="name the timestamp column with `event_time=`",
                origin=topic.origin,
            )
    elif columns is None:
        return
    elif topic.event_time not in columns:
        yield MissingColumnError(
            topic.event_time, who=who, setting="event_time", columns=columns, origin=topic.origin
        )
    elif not columns[topic.event_time].lower().startswith("timestamp"):
        yield ContradictionError(
            what=who,
            reason=f"its event time `{topic.event_time}` is a `{columns[topic.event_time]}`",
            hint="make the column a `timestamp` in the schema",
            origin=topic.origin,
        )


def _of_topic_config(topic: Topic, who: str) -> Iterator[PenstockError]:
    """Find settings that have no effect, or that are given twice."""
    ours = {
        "partitions": topic.partitions,
        "replication": topic.replication,
        "retention": topic.retention,
        "config": topic.config,
        "keys_may_move": topic.keys_may_move,
    }
    for name, value in ours.items():
        if topic.external and value:
            yield ContradictionError(
                what=who,
                reason=f"it is external, so its `{name}` would never be applied",
                hint=f"leave out `{name}=`, or `external=True` if the topic is yours",
                origin=topic.origin,
            )
    twice = (
        ("retention.ms", "retention", topic.retention is not None),
        ("cleanup.policy", "compacted", topic.compacted),
    )
    for config, name, given in twice:
        if config in topic.config and given:
            yield ContradictionError(
                what=who,
                reason=f"`{name}` and the config `{config}` say the same thing twice",
                hint=f"leave out one of them; `{name}=` is enough",
                origin=topic.origin,
            )
    for name, format_ in (("value", topic.value), ("key_format", topic.key_format)):
        if isinstance(format_, Csv) and format_.header:
            yield ContradictionError(
                what=who,
                reason=f"its `{name}` has a header, which only files can have",
                hint="leave out `header=True`",
                origin=topic.origin,
            )


def _of_key(topic: Topic, who: str) -> Iterator[PenstockError]:
    columns = columns_of(topic.key_format)
    if columns is None:
        return
    if isinstance(topic.key_format, Json | Csv | Contract) and not topic.has_plain_key:
        for column in topic.key:
            if column not in columns:
                yield MissingKeyColumnError(column, who=who, columns=columns, origin=topic.origin)
        if topic.key and set(columns) - set(topic.key):
            missing = sorted(set(columns) - set(topic.key))[0]
            yield MissingKeyColumnError(missing, who=who, columns=topic.key, origin=topic.origin)
    elif len(topic.key) > 1:
        yield ContradictionError(
            what=who,
            reason="a key of several columns cannot be text or bytes",
            hint='give `key_format=ps.json("…")` with these columns',
            origin=topic.origin,
        )


def _of_table(table: Table) -> Iterator[PenstockError]:
    who = f"table `{table.name}`"
    if table.schema is not None:
        columns = column_names(table.schema)
        for column in table.key:
            if column not in columns:
                yield MissingKeyColumnError(column, who=who, columns=columns, origin=table.origin)
        for column in table.partition_by:
            if column not in columns:
                yield MissingColumnError(
                    column, who=who, setting="partition_by", columns=columns, origin=table.origin
                )
    if table.key and table.format is not TableFormat.DELTA:
        yield ContradictionError(
            what=who,
            reason=f"rows of a plain {table.format} table cannot be replaced by key",
            hint='leave out `key=`, or use `format="delta"`',
            origin=table.origin,
        )


def _of_lookup(lookup: Lookup, source: Dataset) -> Iterator[PenstockError]:
    who = f"lookup `{lookup.name}`"
    if not isinstance(source, Topic | Table):
        yield ContradictionError(
            what=who,
            reason=f"its source `{source.name}` is a {kind_of(source)}",
            hint="a lookup reads a file, a table or a compacted topic",
            origin=lookup.origin,
        )
    elif isinstance(source, Topic) and not (source.compacted or source.external):
        yield ContradictionError(
            what=who,
            reason=f"its topic `{source.name}` is not compacted, so old keys would vanish from it",
            hint=f"declare `{source.name}` with `compacted=True`",
            origin=lookup.origin,
        )


def _of_flow(flow: Flow, known: dict[DatasetName, Dataset]) -> Iterator[PenstockError]:
    if flow.is_declarative:
        pass  # what it reads was found by calling it
    elif not flow.reads:
        yield ContradictionError(
            what=f"flow `{flow.name}`",
            reason="its function has no parameters, so it reads nothing",
            hint="name the datasets it reads as its parameters",
            origin=flow.origin,
        )
    elif all(isinstance(known.get(name), Lookup) for name in flow.reads):
        yield ContradictionError(
            what=f"flow `{flow.name}`",
            reason="it reads lookups only, which never bring a batch about",
            hint="read a topic, a table or a folder as well",
            origin=flow.origin,
        )
    targets = [known[name] for name in flow.targets.values() if name in known]
    for target in targets:
        if not isinstance(target, Topic | Table | Sink):
            yield NotWritableError(
                target.name, flow=flow.name, kind=kind_of(target), origin=flow.origin
            )
    yield from _mode_problems(flow, targets)
    yield from _changes_problems(flow, targets)
    if isinstance(flow.trigger, RealTime):
        yield from _real_time_problems(flow, targets)


def _mode_problems(flow: Flow, targets: Sequence[Dataset]) -> Iterator[PenstockError]:
    if flow.output_mode is OutputMode.APPEND:
        return
    for target in targets:
        if not isinstance(target, Table):
            continue
        if target.format is not TableFormat.DELTA:
            reason = f"a plain {target.format} table can only be appended to"
        elif flow.output_mode is OutputMode.UPDATE and not target.key:
            reason = f"table `{target.name}` has no key, so updated rows could not replace old ones"
        else:
            continue
        yield ContradictionError(
            what=f"flow `{flow.name}`",
            reason=f"its output mode is `{flow.output_mode}`, but {reason}",
            hint='use `output_mode="append"`, or a Delta table with `key=`',
            origin=flow.origin,
        )


def _changes_problems(flow: Flow, targets: Sequence[Dataset]) -> Iterator[PenstockError]:
    for target in targets if flow.changes is not None else ():
        if not isinstance(target, Table) or target.format is not TableFormat.DELTA:
            yield ContradictionError(
                what=f"flow `{flow.name}`",
                reason=f"it applies changes, which `{target.name}` cannot take",
                hint="let it write into a Delta table",
                origin=flow.origin,
            )


def _real_time_problems(flow: Flow, targets: Sequence[Dataset]) -> Iterator[PenstockError]:
    what = f"flow `{flow.name}`"
    if any(isinstance(target, Table) for target in targets):
        yield ContradictionError(
            what=what,
            reason="a `real_time` flow can only write topics",
            hint="leave out `trigger=`, or write a topic",
            origin=flow.origin,
        )
    if flow.output_mode is not OutputMode.UPDATE:
        yield ContradictionError(
            what=what,
            reason=f"its output mode is `{flow.output_mode}`, real time has only `update`",
            hint='add `output_mode="update"`',
            origin=flow.origin,
        )


def _owned_twice(
    flows: Sequence[Flow], known: dict[DatasetName, Dataset]
) -> Iterator[PenstockError]:
    counts = Counter(name for flow in flows for name in set(flow.targets.values()))
    for name, count in counts.items():
        table = known.get(name)
        if count < 2 or not isinstance(table, Table):
            continue
        writers = [flow for flow in flows if name in flow.targets.values()]
        why = _why_one_owner(table, writers)
        if why is not None:
            names = [flow.name for flow in writers]
            yield TableOwnedTwiceError(name, flows=names, why=why, origin=writers[1].origin)


def _folders_shared(
    flows: Sequence[Flow], known: dict[DatasetName, Dataset]
) -> Iterator[PenstockError]:
    """Find plain tables that have one folder: the rows of one would be lost."""
    written: dict[str, dict[DatasetName, Flow]] = {}
    for flow in flows:
        for name in flow.targets.values():
            table = known.get(name)
            if isinstance(table, Table) and table.path and table.format is not TableFormat.DELTA:
                written.setdefault(table.path.rstrip("/"), {}).setdefault(name, flow)
    for writers in written.values():
        (first, _), *others = writers.items()
        for name, flow in others:
            why = f"it has the folder of table `{first}`, where the rows of one would be lost"
            names = [writers[first].name, flow.name]
            yield TableOwnedTwiceError(name, flows=names, why=why, origin=flow.origin)


def _why_one_owner(table: Table, writers: Sequence[Flow]) -> str | None:
    if table.format is not TableFormat.DELTA:
        return f"in a plain {table.format} table the rows of all but one would be lost"
    if any(flow.output_mode is OutputMode.COMPLETE for flow in writers):
        return "one of them replaces the whole table after each batch"
    if any(flow.changes is not None for flow in writers):
        return "one of them applies changes, which nobody else may touch"
    return None


def _streams_of_replaced_rows(
    datasets: Sequence[Dataset], flows: Sequence[Flow], known: dict[DatasetName, Dataset]
) -> Iterator[PenstockError]:
    """Find streams of tables whose rows are replaced: Delta can only stream what is appended."""
    replaced_whole = {
        name
        for flow in flows
        if flow.output_mode is OutputMode.COMPLETE or flow.changes is not None
        for name in flow.targets.values()
    }
    readers: list[View | Flow] = [*(item for item in datasets if isinstance(item, View)), *flows]
    for reader in readers:
        for name in reader.reads:
            table = known.get(name)
            if isinstance(table, Table) and (table.key or name in replaced_whole):
                yield ContradictionError(
                    what=f"{'view' if isinstance(reader, View) else 'flow'} `{reader.name}`",
                    reason=f"it reads table `{name}` as a stream, whose rows are replaced",
                    hint=f'read it as reference data, with `ps.lookup("…", "{name}")`, or read '
                    "what its writer reads",
                    origin=reader.origin,
                )
