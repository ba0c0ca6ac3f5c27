"""Batches that lost records after a part of them was written.

Where a flow may go on without records that are gone, its planned batch is shortened and keeps its
number (`engine/data_loss.py`). Lanes that have written their share of it then hold more than the
batch does, and one that was committed in parts can no longer tell which of its rows are written.
So before the batch is shortened their names are noted, in `<flow>.shortened.json` beside the
checkpoint: these lanes are done with that batch. All others write what is left of their shares.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from penstock.engine.exactly_once.lane_plan import without_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.engine.storage import Storage
    from penstock.engine.tables import BatchIdentity
    from penstock.kafka.lanes.ledger import LaneEntry
    from penstock.names import FlowName

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortenedBatch:
    """A batch that has lost records, and the lanes that had written some of it before."""

    query_id: str
    batch_id: int
    lanes: tuple[str, ...] = ()

    def is_batch(self, identity: BatchIdentity) -> bool:
        """Whether it is that batch."""
        return (identity.query_id, identity.batch_id) == (self.query_id, self.batch_id)

    def done(self, names: Iterable[str]) -> frozenset[str]:
        """Return the lanes, of those with `names` and others, that write nothing of the batch.

        Of a partition that is read in several ranges all are: other ranges have their names now.
        """
        places = {without_number(name) for name in self.lanes}
        return frozenset(self.lanes) | {name for name in names if without_number(name) in places}


class ShortenedBatchFile:
    """The file `<flow>.shortened.json`: the last batch that was shortened."""

    def __init__(self, storage: Storage, flow: FlowName) -> None:
        self._storage, self._flow, self._name = storage, flow, f"{flow}.shortened.json"

    def load(self) -> ShortenedBatch | None:
        """Return the batch; None if none ever was.

        Raises:
            StorageError: the file cannot be read.
        """
        text = self._storage.read_text(self._name)
        if text is None:
            return None
        content = json.loads(text)
        return ShortenedBatch(
            query_id=content["query_id"],
            batch_id=content["batch_id"],
            lanes=tuple(content["lanes"]),
        )

    def note(self, query_id: str, batch_id: int, entries: Mapping[str, LaneEntry]) -> None:
        """Note that a batch is about to be shortened; safe to repeat.

        Raises:
            StorageError: the file cannot be written.
        """
        written = {name: it for name, it in entries.items() if it.has_begun(query_id, batch_id)}
        lanes = tuple(sorted(written))
        batch = ShortenedBatch(query_id=query_id, batch_id=batch_id, lanes=lanes)
        self._storage.write_text(self._name, json.dumps(asdict(batch)))
        if unfinished := [name for name in lanes if written[name].rows is not None]:
            logger.warning(
                "lanes give up the rest of a batch that lost records",
                extra={"flow": self._flow, "batch_id": batch_id, "lanes": unfinished},
            )
