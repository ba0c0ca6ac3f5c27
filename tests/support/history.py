"""Histories of batches that add up, for tests that then change them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.delivery.records import BatchRecord, PartitionRead
from penstock.kafka import TopicPartition
from penstock.kafka.lanes.ledger import LaneEntry
from penstock.names import FlowName, Offset, Partition, PipelineName, TopicName

LINES = TopicPartition(TopicName("lines"), Partition(0))
WORDS = TopicName("words")
COPY = FlowName("copy")
QUERY = "8f4f"


def batches(
    *sizes: int,
    pipeline: str = "shop",
    query_id: str = QUERY,
    begun: datetime | None = None,
    words: TopicName = WORDS,
) -> list[BatchRecord]:
    """Return batches of these sizes, one behind the other, that copy `lines` to `words`."""
    moment = begun or datetime.now(UTC) - timedelta(hours=1)
    found, read, fingerprint = [], 0, 0
    for number, size in enumerate(sizes):
        fingerprint ^= number + 5
        found.append(
            BatchRecord(
                pipeline=PipelineName(pipeline),
                flow=COPY,
                query_id=query_id,
                first_batch_id=number,
                batch_id=number,
                started=moment + timedelta(seconds=number),
                ended=moment + timedelta(seconds=number, milliseconds=900),
                delivery="exactly_once",
                reads={
                    LINES: PartitionRead(first=Offset(read), after=Offset(read + size), rows=size)
                },
                input_rows=size,
                produced=size,
                written={words: size},
                fingerprints={words: number + 5},
                totals={words: read + size},
                total_fingerprints={words: fingerprint},
            )
        )
        read += size
    return found


def entry_behind(batch: BatchRecord) -> LaneEntry:
    """Return what the one lane of the flow has in the ledger behind a batch."""
    return LaneEntry(
        query_id=batch.query_id,
        batch_id=batch.batch_id,
        plan="p",
        counts={TopicName(name): count for name, count in batch.written.items()},
        totals=batch.totals or {},
        fingerprints=batch.fingerprints,
        total_fingerprints=batch.total_fingerprints,
    )
