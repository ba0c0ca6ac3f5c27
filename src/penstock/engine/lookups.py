"""Lookups: which version of its reference data a flow uses, and whether there is a newer one.

A version is copied into the checkpoint root before a flow uses it, and the flow's choice is written
down beside its checkpoint. So every batch sees one version, however the source changes meanwhile,
and a batch that is run again after a crash sees the version it saw before. When to look for a newer
one, and the restart that brings it in, are `control/reloading.py`.

    <root>/<pipeline>/lookups/<lookup>/<version>/   the copies: Parquet, or one file of Arrow rows
    <root>/<pipeline>/<flow>.lookups.json           the versions that a flow uses
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, assert_never

import pyarrow
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.engine.contracts.errors import UnknownSchemaIdError
from penstock.engine.contracts.wire import unknown_in
from penstock.engine.decoding import BAD_COLUMN, decode
from penstock.engine.enriching import FunctionLookup
from penstock.engine.kafka_source import raw_range
from penstock.errors import Origin, PenstockError
from penstock.kafka import Admin, Isolation, TopicPartition, describe_topics, end_offsets
from penstock.names import DatasetName
from penstock.pipeline import (
    RECORD_COLUMN,
    Csv,
    Json,
    Lookup,
    LookupFile,
    LookupFunction,
    Orc,
    Parquet,
    Table,
    TableFormat,
    Text,
    Topic,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.contracts.binding import Contracts
    from penstock.engine.storage import Storage
    from penstock.engine.tables import TableLocations
    from penstock.kafka import Connection
    from penstock.pipeline import FileFormat, Flow, Pipeline

# Up to here the rows become part of the plan; beyond, Spark reads the copy once per batch.
_ROWS_IN_PLAN = 20_000
_SMALL_COPY = "rows.arrow"
_SCHEMA_KEY = b"spark"

# A source that changes faster than it can be copied is not reference data.
_COPY_ATTEMPTS = 5


class LookupNotLoadedError(PenstockError):
    """Reference data cannot be read."""

    code = "PEN-360"

    def __init__(self, lookup: str, *, source: str, reason: str, origin: Origin) -> None:
        super().__init__(
            f"lookup `{lookup}` cannot be read from {source}: {reason}",
            hint="correct the source; a running flow goes on with the version it has",
            origin=origin,
        )


class LookupUnstableError(PenstockError):
    """Reference data changes while it is copied, again and again."""

    code = "PEN-361"
    retryable = True

    def __init__(self, lookup: str, *, origin: Origin) -> None:
        super().__init__(
            f"lookup `{lookup}` changed {_COPY_ATTEMPTS} times while it was being copied",
            hint="replace files by a rename, in one step; a topic that changes all the time is"
            " better joined as a stream",
            origin=origin,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupChange:
    """A lookup has a newer version than the one in use."""

    lookup: DatasetName
    old_version: str
    new_version: str


Source = LookupFile | Topic | Table


class Lookups:
    """The reference data of one pipeline."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        *,
        storage: Storage,
        connection: Connection,
        kafka: Mapping[str, str],
        tables: TableLocations,
        contracts: Contracts,
    ) -> None:
        """Keep copies in `storage`, whose root is that of the pipeline's checkpoints.

        Args:
            spark: reads and copies the sources.
            pipeline: the declarations.
            storage: where copies and choices are kept.
            connection: tells how far a topic reaches.
            kafka: Spark's options for the same cluster.
            tables: where tables are.
            contracts: resolve the formats of topics whose schemas are elsewhere.
        """
        self._spark, self._pipeline, self._storage = spark, pipeline, storage
        self._contracts = contracts
        self._connection, self._kafka, self._tables = connection, kafka, tables
        self._copying = Lock()  # two flows may need the same copy

    def choose(self, flow: Flow, *, replaying: bool) -> dict[DatasetName, str]:
        """Return the versions that `flow` uses from now on, copied and written down.

        Args:
            flow: the flow that is about to start.
            replaying: whether a planned batch must be run again, which keeps the old versions.

        Raises:
            LookupNotLoadedError: a source cannot be read.
            LookupUnstableError: a source does not hold still.
        """
        versions = self.present(flow, besides=self._choice(flow) if replaying else {})
        if versions:
            self._storage.write_text(_choice_file(flow), json.dumps(versions, sort_keys=True))
        return versions

    def present(
        self, flow: Flow, *, besides: Mapping[DatasetName, str] | None = None
    ) -> dict[DatasetName, str]:
        """Return the present version of each lookup of `flow`, or the one in `besides`, copied.

        Raises:
            LookupNotLoadedError: a source cannot be read.
            LookupUnstableError: a source does not hold still.
        """
        given = besides or {}
        return {
            lookup.name: given.get(lookup.name) or self._copied(lookup)
            for lookup in self._versioned(flow)
        }

    def input(
        self, lookup: Lookup, versions: Mapping[DatasetName, str], spark: SparkSession
    ) -> DataFrame | FunctionLookup:
        """Return what a flow's parameter stands for: rows of the chosen version, or a function."""
        if isinstance(lookup.source, LookupFunction):
            return FunctionLookup(name=lookup.name, source=lookup.source)
        return self.frame(lookup, versions[lookup.name], spark)

    def frame(self, lookup: Lookup, version: str, spark: SparkSession) -> DataFrame:
        """Return the rows of that version, for a plan of the session `spark`."""
        folder = _copy_folder(lookup, version)
        rows = self._storage.read_bytes(f"{folder}/{_SMALL_COPY}")
        if rows is None:
            return F.broadcast(spark.read.parquet(self._storage.path(folder)))
        return _from_bytes(rows, spark)

    def changes(self, versions: Mapping[DatasetName, str]) -> list[LookupChange]:
        """Return the lookups of which there is another version than in `versions`.

        Raises:
            LookupNotLoadedError: a source cannot be read.
        """
        found = []
        for name, old in versions.items():
            lookup = self._pipeline.dataset(name)
            assert isinstance(lookup, Lookup)  # noqa: S101 - versions come from `choose`
            new = self.version(lookup)
            if new != old:
                found.append(LookupChange(lookup=name, old_version=old, new_version=new))
        return found

    def version(self, lookup: Lookup) -> str:
        """Return what tells the present content of the source from any other.

        Raises:
            LookupNotLoadedError: the source cannot be read.
        """
        source = self._source(lookup)
        with _explained(lookup, source):
            match source:
                case LookupFile():
                    return self._files_version(self._path(source))
                case Topic():
                    return self._topic_version(source)
                case Table(format=TableFormat.DELTA):
                    history = f"DESCRIBE HISTORY delta.`{self._tables.path(source)}` LIMIT 1"
                    (newest,) = self._spark.sql(history).collect()
                    return f"v{newest['version']}"
                case Table():
                    return self._files_version(self._tables.path(source))
                case _:
                    assert_never(source)

    def _copied(self, lookup: Lookup) -> str:
        """Return the present version once there is a whole copy of it."""
        with self._copying:
            for _ in range(_COPY_ATTEMPTS):
                version = self.version(lookup)
                folder = _copy_folder(lookup, version)
                if not self._is_copied(folder):
                    with _explained(lookup, self._source(lookup)):
                        self._copy(self._load(lookup), folder)
                if self.version(lookup) == version:
                    return version
                self._storage.delete(folder)
        raise LookupUnstableError(lookup.name, origin=lookup.origin)

    def _is_copied(self, folder: str) -> bool:
        marks = (_SMALL_COPY, "_SUCCESS")
        return any(self._storage.exists(f"{folder}/{mark}") for mark in marks)

    def _copy(self, frame: DataFrame, folder: str) -> None:
        rows = frame.limit(_ROWS_IN_PLAN + 1).toArrow()
        if rows.num_rows <= _ROWS_IN_PLAN:
            content = _to_bytes(rows, frame.schema)
            self._storage.write_bytes(f"{folder}/{_SMALL_COPY}", content)
        else:
            frame.coalesce(1).write.mode("overwrite").parquet(self._storage.path(folder))

    def _load(self, lookup: Lookup) -> DataFrame:
        source = self._source(lookup)
        match source:
            case LookupFile():
                return _read_file(self._spark, self._path(source), source.format)
            case Topic():
                return self._last_values(source)
            case Table():
                return self._spark.read.format(source.format).load(self._tables.path(source))
            case _:
                assert_never(source)

    def _last_values(self, topic: Topic) -> DataFrame:
        """Return the last value of each key; a key whose last value is null is gone."""
        records = raw_range(self._spark, topic, self._kafka)
        newest = F.max_by(F.struct("*"), F.struct("timestamp", "offset"))
        last = records.where("key IS NOT NULL").groupBy("key").agg(newest.alias("last"))
        bound = self._contracts.for_reading(topic)
        rows = decode(last.select("last.*").where("value IS NOT NULL"), bound)
        return rows.where(F.col(BAD_COLUMN).isNull()).drop(BAD_COLUMN, RECORD_COLUMN)

    def _choice(self, flow: Flow) -> dict[DatasetName, str]:
        text = self._storage.read_text(_choice_file(flow))
        return json.loads(text) if text else {}

    def _versioned(self, flow: Flow) -> list[Lookup]:
        sources = self._pipeline.sources(flow)
        lookups = [item for item in sources if isinstance(item, Lookup)]
        return [item for item in lookups if not isinstance(item.source, LookupFunction)]

    def _source(self, lookup: Lookup) -> Source:
        if isinstance(lookup.source, LookupFile):
            return lookup.source
        source = self._pipeline.dataset(DatasetName(str(lookup.source)))
        assert isinstance(source, Topic | Table)  # noqa: S101 - validation lets nothing else pass
        return source

    def _path(self, file: LookupFile) -> str:
        return file.path if "://" in file.path else str(self._pipeline.folder / file.path)

    def _files_version(self, path: str) -> str:
        files = _files(self._spark, path)
        if not files:
            raise FileNotFoundError
        return _digest(";".join(sorted(files)))

    def _topic_version(self, topic: Topic) -> str:
        with Admin(self._connection) as admin:
            (described,) = describe_topics(admin, [topic.kafka_name])
            numbers = [item.partition for item in described.partitions]
            places = [TopicPartition(topic.kafka_name, number) for number in numbers]
            ends = end_offsets(admin, places, isolation=Isolation.READ_COMMITTED)
        return _digest(";".join(f"{where}:{end}" for where, end in sorted(ends.items())))


def _to_bytes(rows: pyarrow.Table, schema: StructType) -> bytes:
    described = rows.replace_schema_metadata({_SCHEMA_KEY: schema.json()})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, described.schema) as writer:
        writer.write_table(described)
    return bytes(sink.getvalue())


def _from_bytes(content: bytes, spark: SparkSession) -> DataFrame:
    rows = pyarrow.ipc.open_file(content).read_all()
    schema = StructType.fromJson(json.loads(rows.schema.metadata[_SCHEMA_KEY]))
    # Spark does not take Arrow's rows when there are none and a column is an array or a time.
    return spark.createDataFrame(rows if rows.num_rows else [], schema=schema)


def _copy_folder(lookup: Lookup, version: str) -> str:
    return f"lookups/{lookup.name}/{version}"


def _choice_file(flow: Flow) -> str:
    return f"{flow.name}.lookups.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _read_file(spark: SparkSession, path: str, format_: FileFormat) -> DataFrame:
    # A lookup with a broken row is refused as a whole: half of a list of frauds is no list.
    reader = spark.read.option("mode", "FAILFAST")
    match format_:
        case Csv():
            options = {"sep": format_.separator, "nullValue": format_.null_value}
            reader = reader.options(**options, header=format_.header, enforceSchema=False)
            return reader.schema(format_.schema).csv(path)
        case Json():
            return reader.schema(format_.schema).json(path)
        case Parquet():
            return reader.schema(format_.schema).parquet(path)
        case Orc():
            return reader.schema(format_.schema).orc(path)
        case Text():
            return reader.text(path)
        case _:
            assert_never(format_)


def _files(spark: SparkSession, path: str) -> list[str]:
    """Return a line for each file at `path`, in it, or matching it, with its size and time."""
    jvm = spark.sparkContext._gateway.jvm  # type: ignore[union-attr]  # noqa: SLF001 - Hadoop is Java's
    where = jvm.org.apache.hadoop.fs.Path(path)
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
    system = where.getFileSystem(hadoop)
    found, lines = list(system.globStatus(where) or ()), []
    while found:
        status = found.pop()
        if status.isDirectory():
            found.extend(system.listStatus(status.getPath()))
        else:
            times = f"{status.getLen()}@{status.getModificationTime()}"
            lines.append(f"{status.getPath().getName()}:{times}")
    return lines


@contextmanager
def _explained(lookup: Lookup, source: Source) -> Iterator[None]:
    try:
        yield
    except (Py4JJavaError, PySparkException, FileNotFoundError) as err:
        if (unknown := unknown_in(str(err))) is not None:
            raise UnknownSchemaIdError(
                lookup.name, schema_id=unknown.id, subject=unknown.subject
            ) from err
        reason = "there is no such file" if isinstance(err, FileNotFoundError) else _sentence(err)
        raise LookupNotLoadedError(
            lookup.name, source=_described(source), reason=reason, origin=lookup.origin
        ) from err


def _described(source: Source) -> str:
    if isinstance(source, LookupFile):
        return f"`{source.path}`"
    return f"{kind_of(source)} `{source.name}`"


def _sentence(err: Py4JJavaError | PySparkException) -> str:
    """Return the first line of the deepest cause that says something."""
    fault = err.java_exception if isinstance(err, Py4JJavaError) else None
    while fault is not None and fault.getCause() is not None:
        fault = fault.getCause()
    text = str(fault.getMessage()) if fault is not None else str(err)
    return text.strip().splitlines()[0]
