"""The ledger: which batch each lane has written last. A table, `_penstock.ledger`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from penstock.names import TopicName

LEDGER_TOPIC = TopicName("_penstock.ledger")

Counts = Mapping[TopicName, int]
"""Records by the topic they were written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One of the writers of a flow."""

    pipeline: str
    flow: str
    name: str
    """What its records come from: a partition of a topic, or a share of a shuffle."""

    @property
    def key(self) -> str:
        """The key of its entry."""
        return f"{lane_prefix(self.pipeline, self.flow)}{self.name}"

    @property
    def transactional_id(self) -> str:
        """What Kafka knows the one writer by that may use the lane at a time.

        It is that of a writer of the key, so a table that waits for the ledger can end a
        transaction that hangs (`kafka/tables/hanging.py`).
        """
        return f"{LEDGER_TOPIC}:{self.key}"


def lane_prefix(pipeline: str, flow: str) -> str:
    """Return what the keys of all lanes of a flow begin with."""
    return f"{pipeline}/{flow}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneEntry:
    """What a lane has written last."""

    query_id: str
    """Of the checkpoint: batches of another one are numbered from 0 again."""

    batch_id: int
    plan: str
    """How the batch was shared out to its lanes; another plan has other records in them."""

    counts: Counts = field(default_factory=dict)
    """What the lane has written of this batch."""

    totals: Counts = field(default_factory=dict)
    """What it has written since the checkpoint began, this batch included."""

    def is_of(self, query_id: str, batch_id: int) -> bool:
        """Whether it is the entry of that batch."""
        return self.query_id == query_id and self.batch_id == batch_id

    def has_written(self, query_id: str, batch_id: int) -> bool:
        """Whether the records of that batch are written."""
        return self.query_id == query_id and self.batch_id >= batch_id

    def to_bytes(self) -> bytes:
        """Return the value of the record."""
        content = {
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "plan": self.plan,
            "counts": self.counts,
            "totals": self.totals,
        }
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> Self:
        """Return what `to_bytes` wrote; raise ValueError, KeyError or TypeError for others."""
        content = json.loads(value)
        return cls(
            query_id=str(content["query_id"]),
            batch_id=int(content["batch_id"]),
            plan=str(content["plan"]),
            counts=_counts(content["counts"]),
            totals=_counts(content["totals"]),
        )


def added(*counts: Counts) -> dict[TopicName, int]:
    """Return the sum of counts, topic by topic."""
    found: dict[TopicName, int] = {}
    for some in counts:
        for topic, count in some.items():
            found[topic] = found.get(topic, 0) + count
    return found


def _counts(content: Mapping[str, int]) -> dict[TopicName, int]:
    return {TopicName(topic): int(count) for topic, count in content.items()}
