"""Batches in files: what a batch run again writes when it would now compute something else.

Beside the checkpoint, in `<flow>.batches` the rows of a flow that declares
`nondeterministic="persist"`, and in `<flow>.lanes` the records of a batch that takes longer than a
transaction may and whose records come in another order each time:

    <batch id>.<query id>/<attempt>/         the rows, as Parquet
    <batch id>.<query id>/<attempt>.lanes    which lane each of its files is
    <batch id>.<query id>/complete           names the attempt that counts

`complete` is written after the rows and never replaced, so a batch is either what it names or not
kept yet: nothing of it is written then, and it may become something else. An attempt that dies
leaves its files behind, under a name that nobody looks for. What a batch has kept is there until
the next one begins: by then Spark has committed it.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.engine.exactly_once.errors import KeptBatchMissingError
from penstock.engine.exactly_once.lane_plan import kept_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.exactly_once.lane_plan import LanePlan
    from penstock.engine.storage import Storage
    from penstock.engine.tables import BatchIdentity
    from penstock.names import FlowName

_COMPLETE = "complete"

_NEVER_SPLIT = {
    "spark.sql.files.maxPartitionBytes": str(2**50),
    "spark.sql.files.openCostInBytes": str(2**50),
}
"""One task reads one file and no other, so that rows stay in the order in which they were kept."""


_NOTHING_MISSING = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}


class KeptBatches:
    """The kept batches of one start of a flow."""

    def __init__(
        self, storage: Storage, flow: FlowName, *, on_replayed: Callable[[int, DataFrame], None]
    ) -> None:
        """Keep nothing yet.

        Args:
            storage: the files beside the checkpoint.
            flow: the flow.
            on_replayed: is told of each batch that was kept before, and its rows: what Spark
                counts are those that it computes now.
        """
        self._files = _KeptFiles(storage, flow, f"{flow}.batches")
        self._on_replayed = on_replayed

    @contextmanager
    def rows(self, frame: DataFrame, identity: BatchIdentity) -> Iterator[DataFrame]:
        """Give the rows of a batch as they are kept; `frame` is evaluated, and kept if none are.

        A batch that is kept is evaluated all the same: state and counts come of that.

        Raises:
            KeptBatchMissingError: somebody has removed the files of a batch that is being written.
            StorageError: a file cannot be read or written.
        """
        self._files.begin(identity)
        is_replayed = self._files.attempt() is not None
        if is_replayed:
            evaluate(frame)
        else:
            self._files.keep(frame)
        with self._files.read(frame) as rows:
            if is_replayed:
                self._on_replayed(identity.batch_id, rows)
            yield rows


class KeptLanes:
    """The records of batches that take longer than a transaction, a file for each lane."""

    def __init__(self, storage: Storage, flow: FlowName) -> None:
        """Keep nothing yet."""
        self._files = _KeptFiles(storage, flow, f"{flow}.lanes")

    def begin(self, identity: BatchIdentity) -> None:
        """Forget the batches before this one.

        Raises:
            StorageError: a file cannot be deleted.
        """
        self._files.begin(identity)

    def has_batch(self) -> bool:
        """Whether the batch is kept.

        Raises:
            KeptBatchMissingError: somebody has removed its files.
            StorageError: a file cannot be read.
        """
        return self._files.attempt() is not None

    def keep(self, records: DataFrame, plan: LanePlan) -> None:
        """Evaluate and keep the batch, whose partitions are the lanes of `plan`.

        Raises:
            StorageError: a file cannot be written.
        """
        self._files.keep(records, lanes=json.dumps({"names": plan.names, "digest": plan.digest}))

    @contextmanager
    def records(self, like: DataFrame) -> Iterator[tuple[DataFrame, LanePlan]]:
        """Give the records of the batch, which is kept, and the lanes that they are.

        Args:
            like: what was kept, for the names and types of its columns.

        Raises:
            KeptBatchMissingError: somebody has removed the files of the batch.
            StorageError: a file cannot be read.
        """
        with self._files.read(like) as records:
            lanes = json.loads(self._files.lanes())
            yield records, kept_plan(records, names=lanes["names"], digest=lanes["digest"])


class _KeptFiles:
    """What is kept of one batch at a time, below a folder."""

    def __init__(self, storage: Storage, flow: FlowName, root: str) -> None:
        self._storage, self._flow, self._root = storage, flow, root
        self._current = ""
        self._found: tuple[str, ...] | None = None
        """The batches that have files, of those that concern this object; None: not looked yet."""

    def begin(self, identity: BatchIdentity) -> None:
        """Forget the batches before, and those of other checkpoints.

        Not later ones: a process that was frozen and wakes up must not remove what its successor
        needs.
        """
        batch = f"{identity.batch_id}.{identity.query_id}"
        if batch == self._current:
            return
        found = self._storage.names(self._root) if self._found is None else self._found
        for other in found:
            if _is_over(other, identity):
                self._storage.delete(f"{self._root}/{other}")
        self._current = batch
        self._found = tuple(name for name in found if not _is_over(name, identity))

    def attempt(self) -> str | None:
        """Return the attempt that counts; None: the batch is not kept."""
        attempt = self._storage.read_text(self._name(_COMPLETE))
        if attempt is not None and not self._storage.exists(self._name(attempt)):
            raise KeptBatchMissingError(self._flow, self._place(attempt))
        return attempt

    def keep(self, frame: DataFrame, *, lanes: str = "") -> None:
        """Evaluate and keep the batch, unless another process was faster: its rows count then."""
        attempt = uuid4().hex[:12]
        self._found = (*(self._found or ()), self._current)
        # A task writes one file, whatever the user has set: of a lane, it is the share.
        frame.write.option("maxRecordsPerFile", 0).parquet(self._place(attempt))
        if lanes:
            self._storage.write_text(self._name(f"{attempt}.lanes"), lanes)
        self._storage.create_text(self._name(_COMPLETE), attempt)

    def lanes(self) -> str:
        """Return what was said of the lanes when the batch was kept."""
        return self._storage.read_text(self._name(f"{self._kept()}.lanes")) or ""

    @contextmanager
    def read(self, like: DataFrame) -> Iterator[DataFrame]:
        """Give the rows of the batch, which is kept; `like` has their columns."""
        with _never_splitting(like.sparkSession):
            reader = like.sparkSession.read.schema(like.schema).options(**_NOTHING_MISSING)
            yield reader.parquet(self._place(self._kept()))

    def _kept(self) -> str:
        attempt = self.attempt()
        if attempt is None:
            raise KeptBatchMissingError(self._flow, self._place(_COMPLETE))
        return attempt

    def _name(self, name: str) -> str:
        return f"{self._root}/{self._current}/{name}"

    def _place(self, attempt: str) -> str:
        return self._storage.path(self._name(attempt))


def evaluate(frame: DataFrame) -> None:
    """Evaluate a batch without writing it: state and counts come of that."""
    frame.write.format("noop").mode("append").save()


def _is_over(name: str, identity: BatchIdentity) -> bool:
    """Whether a kept batch is one before this, or of another checkpoint."""
    batch_id, _, query_id = name.partition(".")
    is_later = batch_id.isdecimal() and int(batch_id) >= identity.batch_id
    return query_id != identity.query_id or not is_later


@contextmanager
def _never_splitting(session: SparkSession) -> Iterator[None]:
    before = {key: session.conf.get(key) for key in _NEVER_SPLIT}
    for key, value in _NEVER_SPLIT.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            session.conf.set(key, str(old))
