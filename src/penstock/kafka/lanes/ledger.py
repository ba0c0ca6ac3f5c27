"""The ledger: which batch each lane has written last. A table, `_penstock.ledger`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from penstock.names import TopicName

LEDGER_TOPIC = TopicName("_penstock.ledger")

_LETTERS = ":deadletters"
"""No flow has a name that ends so: theirs are identifiers."""

Counts = Mapping[TopicName, int]
"""Records by the topic they were written to."""

Fingerprints = Mapping[TopicName, int]
"""By topic: `xxhash64(key, value)` of all records, joined by XOR, so that order does not matter.

As 64 bits without a sign. Counts find records that are there twice or not at all; this finds those
that are there with another content.
"""


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


def letters_of(flow: str) -> str:
    """Return what stands for a flow in the names of the lanes of its dead letters.

    They are written behind its batches, and not counted as its output.
    """
    return f"{flow}{_LETTERS}"


def is_of_letters(flow: str) -> bool:
    """Whether what stands for a flow in the names of lanes stands for its dead letters."""
    return flow.endswith(_LETTERS)


def flow_of(key: str) -> str:
    """Return the flow whose lane has an entry with this key."""
    _, flow, _ = key.split("/", 2)
    return flow.removesuffix(_LETTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneEntry:
    """What a lane has written last."""

    query_id: str
    """Of the checkpoint: batches of another one are numbered from 0 again."""

    batch_id: int
    plan: str
    """How the batch was shared out to its lanes; another plan has other records in them."""

    rows: int | None = None
    """None: the lane has written its share of the batch. Otherwise only the first so many rows of
    it are written: the batch takes longer than a transaction may, and is committed in parts."""

    counts: Counts = field(default_factory=dict)
    """What the lane has written of this batch."""

    totals: Counts = field(default_factory=dict)
    """What it has written since the checkpoint began, this batch included."""

    fingerprints: Fingerprints = field(default_factory=dict)
    """Of what the lane has written of this batch."""

    total_fingerprints: Fingerprints = field(default_factory=dict)
    """Of what it has written since the checkpoint began, this batch included."""

    def is_of(self, query_id: str, batch_id: int) -> bool:
        """Whether it is the entry of that batch."""
        return self.query_id == query_id and self.batch_id == batch_id

    def has_written(self, query_id: str, batch_id: int) -> bool:
        """Whether all records of that batch are written."""
        if self.is_of(query_id, batch_id):
            return self.rows is None
        return self.query_id == query_id and self.batch_id > batch_id

    def has_begun(self, query_id: str, batch_id: int) -> bool:
        """Whether it has records of that batch, or all; it may say only that it is a long one."""
        return self.is_of(query_id, batch_id) and self.rows != 0

    def is_part_of(self, query_id: str, batch_id: int) -> bool:
        """Whether the batch is one that is committed in parts, of which some are missing."""
        return self.is_of(query_id, batch_id) and self.rows is not None

    def to_bytes(self) -> bytes:
        """Return the value of the record."""
        content = {
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "plan": self.plan,
            "rows": self.rows,
            "counts": self.counts,
            "totals": self.totals,
            "fingerprints": fingerprint_texts(self.fingerprints),
            "total_fingerprints": fingerprint_texts(self.total_fingerprints),
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
            rows=None if content.get("rows") is None else int(content["rows"]),
            counts=_counts(content["counts"]),
            totals=_counts(content["totals"]),
            # Entries of older versions have none.
            fingerprints=fingerprints_of(content.get("fingerprints", {})),
            total_fingerprints=fingerprints_of(content.get("total_fingerprints", {})),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What all lanes of a flow have written: of one batch, and since the checkpoint began."""

    counts: Counts
    fingerprints: Fingerprints
    totals: Counts
    total_fingerprints: Fingerprints

    is_as_returned: bool = True
    """Whether what the flow returned in this run is what is written: not when some was given up, or
    was written by a run that had other rows."""


def written_by(entries: Iterable[LaneEntry], query_id: str, batch_id: int) -> Written:
    """Return what lanes with these entries have written of a batch and up to it."""
    own = [entry for entry in entries if entry.query_id == query_id]
    batch = [entry for entry in own if entry.batch_id == batch_id]
    return Written(
        counts=added(*(entry.counts for entry in batch)),
        fingerprints=mixed(*(entry.fingerprints for entry in batch)),
        totals=added(*(entry.totals for entry in own)),
        total_fingerprints=mixed(*(entry.total_fingerprints for entry in own)),
    )


def added(*counts: Counts) -> dict[TopicName, int]:
    """Return the sum of counts, topic by topic."""
    found: dict[TopicName, int] = {}
    for some in counts:
        for topic, count in some.items():
            found[topic] = found.get(topic, 0) + count
    return found


def mixed(*fingerprints: Fingerprints) -> dict[TopicName, int]:
    """Return the fingerprints of all records together, topic by topic."""
    found: dict[TopicName, int] = {}
    for some in fingerprints:
        for topic, fingerprint in some.items():
            found[topic] = found.get(topic, 0) ^ fingerprint
    return found


def fingerprint_texts(fingerprints: Fingerprints) -> dict[TopicName, str]:
    """Return fingerprints as JSON holds them: numbers of 64 bits are not safe there."""
    return {topic: f"{fingerprint:016x}" for topic, fingerprint in fingerprints.items()}


def fingerprints_of(content: Mapping[str, str]) -> dict[TopicName, int]:
    """Return what `fingerprint_texts` wrote."""
    return {TopicName(topic): int(text, 16) for topic, text in content.items()}


def _counts(content: Mapping[str, int]) -> dict[TopicName, int]:
    return {TopicName(topic): int(count) for topic, count in content.items()}
