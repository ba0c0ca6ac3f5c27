"""Plain tables: folders that Spark's file sink appends to, for one flow on one checkpoint.

The sink notes in `_spark_metadata` which batches it has written, by their numbers alone: a batch
of another checkpoint whose number is noted already would be passed over without a word, all its
rows lost. Files that were there before are no longer read once there are such notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.storage import Storage
from penstock.errors import PenstockError
from penstock.pipeline import Table, TableFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.engine.tables import TableLocations
    from penstock.names import FlowName
    from penstock.pipeline import Flow, Pipeline

_NOTES = "_spark_metadata"
_COMPACT = ".compact"


class FolderNotFreshError(PenstockError):
    """A plain table is to be written into a folder where somebody else's files are."""

    code = "PEN-359"

    def __init__(self, flow: FlowName, table: Table, path: str, *, found: str) -> None:
        super().__init__(
            f"flow `{flow}` cannot write the plain {table.format} table `{table.name}`: {found} in "
            f"`{path}`, so Spark would lose rows",
            hint="name a folder that does not exist with `path=`, or move this one away; or use "
            '`format="delta"`, which takes several flows and checkpoints',
            origin=table.origin,
        )
        self.path = path


def ensure_folders_are_own(
    spark: SparkSession,
    flow: Flow,
    pipeline: Pipeline,
    locations: TableLocations,
    checkpoint: CheckpointFolder,
) -> None:
    """Refuse to write plain tables into folders that this checkpoint has not written alone.

    Raises:
        FolderNotFreshError: others have.
        StorageError: a folder cannot be read.
    """
    planned = checkpoint.last_planned()
    for table in _plain_tables(flow, pipeline):
        path = locations.path(table)
        storage = Storage(spark, path)
        newest = _newest_batch(storage)
        if planned is None and (newest is not None or _has_files(storage)):
            raise FolderNotFreshError(
                flow.name, table, path, found="the flow's checkpoint is new, and there are files"
            )
        if planned is not None and newest is not None and newest > planned:
            found = f"the flow's last batch is {planned}, and there is batch {newest}"
            raise FolderNotFreshError(flow.name, table, path, found=found)


def _plain_tables(flow: Flow, pipeline: Pipeline) -> Iterator[Table]:
    for target in pipeline.targets(flow).values():
        if isinstance(target, Table) and target.format is not TableFormat.DELTA:
            yield target


def _newest_batch(storage: Storage) -> int | None:
    names = (name.removesuffix(_COMPACT) for name in storage.names(_NOTES))
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _has_files(storage: Storage) -> bool:
    return any(not name.startswith("_") for name in storage.names(""))
