"""What can be wrong with a record that is asked for by its offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka.errors import ClusterError

if TYPE_CHECKING:
    from penstock.kafka.offsets import TopicPartition
    from penstock.names import Offset


class RecordNotThereError(ClusterError):
    """A partition has no record at an offset."""

    code = "PEN-761"

    def __init__(
        self, partition: TopicPartition, *, offset: int, first: Offset, end: Offset
    ) -> None:
        if offset < first:
            reason = f"retention has removed it: the first that is left is {first}"
        elif offset >= end:
            reason = f"the next record will be {end}"
        else:
            reason = (
                "compaction has removed it, or it belongs to a transaction: a marker, aborted or "
                "still open"
            )
        super().__init__(
            f"`{partition}` has no record at offset {offset}: {reason}",
            hint=f"`penstock consume {partition.topic} --partition {partition.partition} "
            f"--from offset:{max(first, min(offset, end))} --limit 1` reads the next one",
        )
        self.partition, self.offset = partition, offset
