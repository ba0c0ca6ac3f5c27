"""What is noted of each batch: how far it read and what became of the records. Plain data.

Each record of the topic `_penstock.batches` is one of these as JSON, keyed `pipeline/flow`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.kafka import TopicPartition
from penstock.kafka.lanes.ledger import fingerprint_texts, fingerprints_of
from penstock.names import FlowName, Offset, Partition, PipelineName, TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRead:
    """What a batch read of one partition."""

    first: Offset
    after: Offset
    """The offset behind the last."""

    rows: int | None
    """Records; None when nobody counted. Transactions and compaction leave gaps in offsets."""


Reads = Mapping[TopicPartition, PartitionRead]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """A finished batch."""

    pipeline: PipelineName
    flow: FlowName
    query_id: str
    first_batch_id: int
    """Another than `batch_id` where the record stands for several that nobody noted in time."""

    batch_id: int
    started: datetime
    ended: datetime
    delivery: str
    reads: Reads
    input_rows: int
    """Of topics and all other sources."""

    undecodable: int = 0
    refused: int = 0
    """Rows that no topic took, which are dead letters."""

    duplicates: int = 0
    late: int = 0
    produced: int | None = None
    """Rows that the flow returned; None when nobody counted."""

    is_stateful: bool = False
    written: Mapping[str, int] = field(default_factory=dict)
    """Records by topic, rows by table or sink."""

    fingerprints: Mapping[TopicName, int] = field(default_factory=dict)
    """Of what lanes have written."""

    totals: Mapping[TopicName, int] | None = None
    """What lanes have written since the checkpoint began; None when the flow has no lanes."""

    total_fingerprints: Mapping[TopicName, int] = field(default_factory=dict)
    recounted: bool = False
    """Whether it was counted again by a later driver, because that of the batch had died."""

    @property
    def at(self) -> datetime:
        """Where it belongs in time."""
        return self.ended


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRecord:
    """Records were gone before the flow read them: its checkpoint was moved."""

    pipeline: PipelineName
    flow: FlowName
    at: datetime
    topic: TopicName
    reason: str
    count: int | None = None
    """At most so many, as offsets bound them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LettersRecord:
    """Undecodable records have become dead letters."""

    pipeline: PipelineName
    flow: FlowName
    at: datetime
    batch_id: int
    """All letters of batches up to this one are written."""

    count: int


HistoryRecord = BatchRecord | LossRecord | LettersRecord


def to_bytes(record: HistoryRecord) -> bytes:
    """Return the value of the record in the topic."""
    content = payload(record)
    return json.dumps(content, separators=(",", ":")).encode()


def payload(record: HistoryRecord) -> dict[str, object]:
    """Return a record as JSON has it."""
    common: dict[str, object] = {"pipeline": record.pipeline, "flow": record.flow}
    match record:
        case LossRecord():
            told = {"at": record.at.isoformat(), "topic": record.topic, "reason": record.reason}
            return {"kind": "lost"} | common | told | {"count": record.count}
        case LettersRecord():
            counted = {"batch_id": record.batch_id, "count": record.count}
            return {"kind": "dead_letters"} | common | {"at": record.at.isoformat()} | counted
        case BatchRecord():
            return {"kind": "batch"} | common | _batch(record)


def from_bytes(value: bytes) -> HistoryRecord:
    """Return what `to_bytes` wrote; raise ValueError, KeyError or TypeError for others."""
    content = json.loads(value)
    pipeline, flow = PipelineName(content["pipeline"]), FlowName(content["flow"])
    if content["kind"] == "batch":
        return _batch_of(pipeline, flow, content)
    at = datetime.fromisoformat(content["at"])
    if content["kind"] == "lost":
        return LossRecord(
            pipeline=pipeline,
            flow=flow,
            at=at,
            topic=TopicName(content["topic"]),
            reason=str(content["reason"]),
            count=content.get("count"),
        )
    return LettersRecord(
        pipeline=pipeline,
        flow=flow,
        at=at,
        batch_id=int(content["batch_id"]),
        count=int(content["count"]),
    )


def _batch(record: BatchRecord) -> dict[str, object]:
    reads: dict[str, dict[str, dict[str, int | None]]] = {}
    for where, read in sorted(record.reads.items()):
        bounds = {"from": read.first, "to": read.after, "rows": read.rows}
        reads.setdefault(where.topic, {})[str(where.partition)] = bounds
    return {
        "query_id": record.query_id,
        "first_batch_id": record.first_batch_id,
        "batch_id": record.batch_id,
        "started": record.started.isoformat(),
        "ended": record.ended.isoformat(),
        "delivery": record.delivery,
        "reads": reads,
        "input_rows": record.input_rows,
        "undecodable": record.undecodable,
        "refused": record.refused,
        "duplicates": record.duplicates,
        "late": record.late,
        "produced": record.produced,
        "is_stateful": record.is_stateful,
        "written": dict(record.written),
        "fingerprints": fingerprint_texts(record.fingerprints),
        "totals": None if record.totals is None else dict(record.totals),
        "total_fingerprints": fingerprint_texts(record.total_fingerprints),
        "recounted": record.recounted,
    }


def _batch_of(pipeline: PipelineName, flow: FlowName, content: Mapping[str, Any]) -> BatchRecord:
    totals = content["totals"]
    return BatchRecord(
        pipeline=pipeline,
        flow=flow,
        query_id=str(content["query_id"]),
        first_batch_id=int(content["first_batch_id"]),
        batch_id=int(content["batch_id"]),
        started=datetime.fromisoformat(content["started"]),
        ended=datetime.fromisoformat(content["ended"]),
        delivery=str(content["delivery"]),
        reads={
            TopicPartition(TopicName(topic), Partition(int(number))): PartitionRead(
                first=Offset(int(read["from"])),
                after=Offset(int(read["to"])),
                rows=_number(read["rows"]),
            )
            for topic, partitions in content["reads"].items()
            for number, read in partitions.items()
        },
        input_rows=int(content["input_rows"]),
        undecodable=int(content["undecodable"]),
        refused=int(content["refused"]),
        duplicates=int(content["duplicates"]),
        late=int(content["late"]),
        produced=_number(content["produced"]),
        is_stateful=bool(content["is_stateful"]),
        written={str(name): int(count) for name, count in content["written"].items()},
        fingerprints=fingerprints_of(content["fingerprints"]),
        totals=None
        if totals is None
        else {TopicName(topic): int(count) for topic, count in totals.items()},
        total_fingerprints=fingerprints_of(content["total_fingerprints"]),
        recounted=bool(content["recounted"]),
    )


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
