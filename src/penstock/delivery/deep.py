"""What output topics hold, compared with what batches have noted and lanes have counted.

Records are found by their time: those of the audited batches are stamped after the first of them
began and before the last of them ended, and no other batch of the flow was under way then. So the
clocks of drivers, workers and, for `LogAppendTime`, brokers must agree.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING

from penstock.delivery.audit import Finding, FindingKind
from penstock.kafka import (
    Admin,
    Consumer,
    first_offsets,
    offsets_at,
    partitions_to_read,
    topic_names,
)
from penstock.kafka.cluster.configs import topic_configs
from penstock.kafka.lanes.fingerprints import fingerprint_of
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from penstock.delivery.audit import FlowAudit
    from penstock.kafka import Connection, TopicPartition
    from penstock.names import FlowName, Offset

_CHUNK = 10_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Content:
    """Some records, whatever their order."""

    records: int
    fingerprint: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAudit:
    """One output topic of one flow."""

    flow: FlowName
    topic: TopicName
    expected: int
    found: int | None
    """None: it cannot be compared."""

    has_fingerprints: bool = False
    """Whether contents were compared too."""

    note: str | None = None
    finding: Finding | None = None


def compare(
    connection: Connection, flows: Sequence[FlowAudit], *, dead_letters: TopicName
) -> tuple[TopicAudit, ...]:
    """Return what the output topics of `flows` hold; dead letters have no batch and are left out.

    Raises:
        ClusterError: the cluster is away, or refuses.
    """
    with Admin(connection) as admin:
        existing = topic_names(admin)
        found = []
        for flow in flows:
            for name in flow.written:
                topic = TopicName(name)
                if topic not in existing or topic == dead_letters:
                    continue  # a table or a sink
                writers = [item.flow for item in flows if name in item.written]
                found.append(_audited(connection, admin, flow, topic, writers))
        return tuple(found)


def _audited(
    connection: Connection,
    admin: Admin,
    flow: FlowAudit,
    topic: TopicName,
    writers: Sequence[FlowName],
) -> TopicAudit:
    begin = flow.batches[0].started
    starts = offsets_at(admin, partitions_to_read(admin, [topic]), begin)
    obstacle = _obstacle(admin, topic, begin, starts, writers)
    if obstacle is not None:
        expected = flow.written[topic]
        return TopicAudit(flow=flow.flow, topic=topic, expected=expected, found=None, note=obstacle)
    contents = read_contents(connection, starts, begin, [it.ended for it in flow.batches])
    return _verdict(flow, topic, contents)


def _obstacle(
    admin: Admin,
    topic: TopicName,
    begin: datetime,
    starts: dict[TopicPartition, Offset],
    writers: Sequence[FlowName],
) -> str | None:
    """Return why a topic cannot be compared."""
    if len(writers) > 1:
        return f"{len(writers)} flows write it: {', '.join(writers)}"
    configs = {entry.name: entry.value for entry in topic_configs(admin, [topic])[topic]}
    if "compact" in (configs.get("cleanup.policy") or ""):
        return "it is compacted"
    firsts = first_offsets(admin, list(starts))
    gone = [
        str(where)
        for where, first in firsts.items()
        # Nothing that is left is older than the first batch: what was removed may be of it.
        if first > 0 and starts[where] == first
    ]
    if gone:
        return f"retention has removed a part of {', '.join(sorted(gone))} after {begin:%F %T} UTC"
    return None


def read_contents(
    connection: Connection,
    starts: dict[TopicPartition, Offset],
    begin: datetime,
    ends: Sequence[datetime],
) -> list[Content]:
    """Return the committed records from `starts` on, by the batch that had not ended then.

    Args:
        connection: how to reach the cluster.
        starts: where to begin to read.
        begin: of the first batch; what is stamped earlier is left out.
        ends: of the batches, in their order; what is stamped after the last is left out.
    """
    counts, fingerprints = [0] * len(ends), [0] * len(ends)
    with Consumer(connection) as consumer:
        consumer.assign(list(starts), starts)
        for number, keys, values in _chunks(consumer, begin, ends):
            counts[number] += len(keys)
            fingerprints[number] ^= fingerprint_of(keys, values)
    return [Content(*pair) for pair in zip(counts, fingerprints, strict=True)]


def _chunks(
    consumer: Consumer, begin: datetime, ends: Sequence[datetime]
) -> Iterator[tuple[int, list[bytes | None], list[bytes | None]]]:
    """Yield the number of a batch with keys and values, many at a time: so they are hashed."""
    begin -= timedelta(microseconds=begin.microsecond % 1000)  # as times of records are
    held: dict[int, tuple[list[bytes | None], list[bytes | None]]] = {}
    size = 0
    for record in consumer.read_to_end():
        moment = record.timestamp or begin
        number = bisect_left(ends, moment)
        if moment < begin or number == len(ends):
            continue
        keys, values = held.setdefault(number, ([], []))
        keys.append(record.key)
        values.append(record.value)
        size += 1
        if size == _CHUNK:
            yield from ((index, *columns) for index, columns in held.items())
            held, size = {}, 0
    yield from ((index, *columns) for index, columns in held.items())


def _verdict(flow: FlowAudit, topic: TopicName, contents: Sequence[Content]) -> TopicAudit:
    expected = [batch.written.get(topic, 0) for batch in flow.batches]
    found = sum(content.records for content in contents)
    by_lanes = all(
        topic in batch.fingerprints
        for batch in flow.batches
        if batch.totals is not None and batch.written.get(topic)
    ) and all(batch.totals is not None for batch in flow.batches)
    note = finding = None
    if found > sum(expected) and not by_lanes:
        note = f"{found - sum(expected)} records more: it is written at least once"
    elif found != sum(expected):
        kind, what = FindingKind.OUTPUT, f"holds {found} records of their time"
        others = [item.records != n for item, n in zip(contents, expected, strict=True)]
        finding = _finding(flow, topic, sum(expected), kind, what, others)
    elif by_lanes:
        whole = [batch.fingerprints.get(topic, 0) for batch in flow.batches]
        others = [item.fingerprint != n for item, n in zip(contents, whole, strict=True)]
        if reduce(xor, (item.fingerprint for item in contents)) != reduce(xor, whole):
            kind, what = FindingKind.CONTENT, "holds as many with another content"
            finding = _finding(flow, topic, sum(expected), kind, what, others)
    return TopicAudit(
        flow=flow.flow,
        topic=topic,
        expected=sum(expected),
        found=found,
        has_fingerprints=by_lanes,
        note=note,
        finding=finding,
    )


def _finding(
    flow: FlowAudit,
    topic: TopicName,
    expected: int,
    kind: FindingKind,
    what: str,
    others: Sequence[bool],
) -> Finding:
    wrong = [batch for batch, is_other in zip(flow.batches, others, strict=True) if is_other]
    shown = ", ".join(str(batch.batch_id) for batch in wrong[:_SHOWN])
    more = ", …" if len(wrong) > _SHOWN else ""
    first, last = flow.batches[0].first_batch_id, flow.batches[-1].batch_id
    return Finding(
        flow=flow.flow,
        kind=kind,
        message=f"batches {first} to {last} have written {expected} records to `{topic}`, which "
        f"{what}; others than noted in batch {shown}{more}",
        batch_id=wrong[0].batch_id if wrong else None,
    )
