"""Batches in files: what a batch run again writes when it would now compute something else.

Beside the checkpoint of a flow that declares `nondeterministic="persist"`:

    <flow>.batches/<batch id>.<query id>/<attempt>/    the rows, as Parquet
    <flow>.batches/<batch id>.<query id>/complete      names the attempt that counts

`complete` is written after the rows and never replaced, so a batch is either what it names or not
kept yet: nothing of it is written then, and it may become something else. An attempt that dies
leaves its files behind, under a name that nobody looks for. What a batch has kept is there until
the next one begins: by then Spark has committed it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.engine.exactly_once.errors import KeptBatchMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.storage import Storage
    from penstock.engine.tables import BatchIdentity
    from penstock.names import FlowName

_COMPLETE = "complete"

_NEVER_SPLIT = {
    "spark.sql.files.maxPartitionBytes": str(2**50),
    "spark.sql.files.openCostInBytes": str(2**50),
}
"""One task reads one file and no other, so that rows stay in the order in which they were kept."""


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
        self._on_replayed = on_replayed
        self._storage, self._flow, self._root = storage, flow, f"{flow}.batches"
        self._current: str | None = None

    @contextmanager
    def rows(self, frame: DataFrame, identity: BatchIdentity) -> Iterator[DataFrame]:
        """Give the rows of a batch as they are kept; `frame` is evaluated, and kept if none are.

        A batch that is kept is evaluated all the same: state and counts come of that.

        Raises:
            KeptBatchMissingError: somebody has removed the files of a batch that is being written.
            StorageError: a file cannot be read or written.
        """
        self._begin(f"{identity.batch_id}.{identity.query_id}")
        attempt = self._attempt()
        is_replayed = attempt is not None
        if attempt is None:
            attempt = self._keep(frame)
        else:
            frame.write.format("noop").mode("append").save()
        with _never_splitting(frame.sparkSession):
            rows = frame.sparkSession.read.schema(frame.schema).parquet(self._place(attempt))
            if is_replayed:
                self._on_replayed(identity.batch_id, rows)
            yield rows

    def _begin(self, batch: str) -> None:
        """Forget the batch before; at a start all others, which are done or of other checkpoints.

        Only what this object has kept is removed later on: a process that was frozen and wakes up
        must not remove what its successor needs.
        """
        if batch == self._current:
            return
        others = [self._current] if self._current else self._storage.names(self._root)
        for other in others:
            if other != batch:
                self._storage.delete(f"{self._root}/{other}")
        self._current = batch

    def _attempt(self) -> str | None:
        attempt = self._storage.read_text(self._name(_COMPLETE))
        if attempt is not None and not self._storage.exists(self._name(attempt)):
            raise KeptBatchMissingError(self._flow, self._place(attempt))
        return attempt

    def _keep(self, frame: DataFrame) -> str:
        attempt = uuid4().hex[:12]
        frame.write.parquet(self._place(attempt))
        if self._storage.create_text(self._name(_COMPLETE), attempt):
            return attempt
        return self._attempt() or attempt  # another process was faster: its rows count

    def _name(self, name: str) -> str:
        return f"{self._root}/{self._current}/{name}"

    def _place(self, attempt: str) -> str:
        return self._storage.path(self._name(attempt))


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
