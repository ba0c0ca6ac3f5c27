"""The arithmetic of an audit: whether what is noted of the batches of a flow adds up.

Pure: history and entries of the ledger in, sums and findings out. A batch that runs is no finding:
its lanes may have written, the history then knows nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from penstock.delivery.records import BatchRecord, LettersRecord, LossRecord
from penstock.kafka.lanes.ledger import LaneEntry, Written, mixed, written_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from penstock.delivery.records import HistoryRecord
    from penstock.kafka import TopicPartition
    from penstock.names import FlowName, Offset

LETTERS_TIME = timedelta(seconds=60)
"""Dead letters are written behind their batch; this long they may be on their way."""


class FindingKind(StrEnum):
    """What does not add up."""

    GAP = "gap"
    OVERLAP = "overlap"
    MISSING_BATCH = "missing batch"
    CONTRADICTION = "contradiction"
    OVERREAD = "overread"
    OUTPUT = "output"
    DEAD_LETTERS = "dead letters"
    LEDGER = "ledger"
    CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that does not add up, in a sentence, with its place."""

    flow: FlowName
    kind: FindingKind
    message: str
    batch_id: int | None = None
    partition: TopicPartition | None = None
    first: Offset | None = None
    after: Offset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowAudit:
    """What became of the records of one flow."""

    flow: FlowName
    batches: tuple[BatchRecord, ...]
    """Each once, in their order."""

    dead_letters: int
    ledger: Written | None
    """What the lanes of the last checkpoint have written by the ledger; None: there are none."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def query_id(self) -> str:
        """Of the last checkpoint."""
        return self.batches[-1].query_id

    @property
    def rows(self) -> dict[TopicPartition, int]:
        """Records that were read, by partition."""
        found: dict[TopicPartition, int] = {}
        for batch in self.batches:
            for where, read in batch.reads.items():
                found[where] = found.get(where, 0) + (read.rows or 0)
        return found

    @property
    def written(self) -> dict[str, int]:
        """By target."""
        found: dict[str, int] = {}
        for batch in self.batches:
            for name, count in batch.written.items():
                found[name] = found.get(name, 0) + count
        return found

    @property
    def is_stateful(self) -> bool:
        """Whether rows out cannot be told from rows in."""
        return any(batch.is_stateful for batch in self.batches)

    @property
    def filtered(self) -> int | None:
        """Rows that the flow's function took in and did not return; None where nobody can tell.

        Less than nothing where it returned more than it took in.
        """
        if self.is_stateful or any(batch.produced is None for batch in self.batches):
            return None
        return sum(entered(batch) - (batch.produced or 0) for batch in self.batches)


def entered(batch: BatchRecord) -> int:
    """Return the rows that reached the flow's function."""
    return batch.input_rows - batch.undecodable


def audit_flow(
    flow: FlowName,
    records: Iterable[HistoryRecord],
    entries: Mapping[str, LaneEntry] | None,
    letter_entries: Mapping[str, LaneEntry] | None = None,
    *,
    settled: datetime,
    to: datetime | None = None,
) -> FlowAudit | None:
    """Return what the records of a flow come to; None if there is no batch among them.

    Args:
        flow: the flow.
        records: of this flow.
        entries: of the ledger, by lane; read before the last of `records`, so that they may know
            of one batch more. None: they were forgotten with the flow.
        letter_entries: the same of the lanes of its dead letters.
        settled: what is from before that moment has had time to be dealt with.
        to: leave out later batches, and the ledger, which knows the last state only.
    """
    noted = list(records)
    batches, contradictions = _in_order(item for item in noted if isinstance(item, BatchRecord))
    chosen = tuple(item for item in batches if to is None or item.ended <= to)
    if not chosen:
        return None
    losses = [item for item in noted if isinstance(item, LossRecord)]
    letters = _letters_behind(batches, [item for item in noted if isinstance(item, LettersRecord)])[
        : len(chosen)
    ]
    findings = [*contradictions, *_chain_findings(chosen, losses)]
    notes = [*_loss_notes(losses, to), *_beginning_notes(chosen)]
    for batch in chosen:
        findings += _batch_findings(batch, notes)
    written_letters = sum(count or 0 for count in letters)
    proven = None if to else _proven_letters(chosen, letter_entries or {})
    if proven is not None and proven >= sum(batch.undecodable for batch in chosen):
        written_letters = proven
    else:
        findings += _letter_findings(chosen, letters, settled)
    ledger = None if to or entries is None else _ledger_of(entries, chosen[-1])
    if ledger is not None and entries is not None:
        findings += _ledger_findings(chosen[-1], entries, ledger)
    return FlowAudit(
        flow=flow,
        batches=chosen,
        dead_letters=written_letters,
        ledger=ledger,
        findings=tuple(findings),
        notes=tuple(notes),
    )


def behind_by(entries: Iterable[LaneEntry], batches: Sequence[BatchRecord]) -> int:
    """Return how many finished batches the history lacks by the ledger; it may come yet."""
    if not batches:
        return 0
    query_id = batches[-1].query_id
    last = max(batch.batch_id for batch in batches if batch.query_id == query_id)
    newest = (entry.batch_id for entry in entries if entry.query_id == query_id)
    return max(0, max(newest, default=-1) - last - 1)


def _in_order(batches: Iterable[BatchRecord]) -> tuple[list[BatchRecord], list[Finding]]:
    """Return the batches, checkpoint after checkpoint, and what is told twice and differently."""
    found: dict[tuple[str, int], BatchRecord] = {}
    births: dict[str, datetime] = {}
    contradictions = []
    for batch in batches:
        births.setdefault(batch.query_id, batch.started)
        births[batch.query_id] = min(births[batch.query_id], batch.started)
        known = found.setdefault((batch.query_id, batch.batch_id), batch)
        if known is not batch and _essence(known) != _essence(batch):
            contradictions.append(
                _finding(batch, FindingKind.CONTRADICTION, "is noted twice, and differently")
            )
    order = sorted(found.values(), key=lambda it: (births[it.query_id], it.query_id, it.batch_id))
    return order, contradictions


def _essence(batch: BatchRecord) -> object:
    """Return what must be the same whenever a batch is told of."""
    bounds = {where: (read.first, read.after) for where, read in batch.reads.items()}
    return bounds, dict(batch.fingerprints), batch.totals and dict(batch.totals)


def _chain_findings(
    batches: Sequence[BatchRecord], losses: Sequence[LossRecord]
) -> Iterator[Finding]:
    for before, batch in pairwise(batches):
        if before.query_id != batch.query_id:
            continue  # a new checkpoint is a new beginning
        missing = batch.first_batch_id - before.batch_id - 1
        if missing > 0:
            yield _missing(before, batch)
            continue
        moved = {loss.topic for loss in losses if before.started <= loss.at <= batch.ended}
        for where, read in batch.reads.items():
            earlier = before.reads.get(where)
            if earlier is None or where.topic in moved or read.first == earlier.after:
                continue
            yield _break(batch, where, earlier.after, read.first)
        yield from _sum_findings(before, batch)


def _loss_notes(losses: Sequence[LossRecord], to: datetime | None) -> Iterator[str]:
    for loss in losses:
        if to is None or loss.at <= to:
            some = "records" if loss.count is None else f"up to {loss.count} records"
            yield f"{loss.at:%Y-%m-%d %H:%M:%S}: {some} of `{loss.topic}` were lost: {loss.reason}"


def _beginning_notes(batches: Sequence[BatchRecord]) -> Iterator[str]:
    """Say where a new checkpoint began, as it may read again what others have read."""
    for before, batch in pairwise(batches):
        if before.query_id == batch.query_id:
            continue
        moves = []
        for where, read in sorted(batch.reads.items()):
            ended = before.reads[where].after if where in before.reads else None
            if ended is not None and ended != read.first:
                told = "were not read" if read.first > ended else "were read again"
                bounds = f"{min(ended, read.first)} to {max(ended, read.first)}"
                moves.append(f"offsets {bounds} of `{where}` {told}")
        where_to = ", ".join(moves) or "it goes on where the one before ended"
        yield f"{batch.started:%Y-%m-%d %H:%M:%S}: a new checkpoint: {where_to}"


def _missing(before: BatchRecord, batch: BatchRecord) -> Finding:
    first, last = before.batch_id + 1, batch.first_batch_id - 1
    which = f"batch {first} is" if first == last else f"batches {first} to {last} are"
    parts = ", ".join(
        f"`{where}` {earlier.after} to {read.first}"
        for where, read in sorted(batch.reads.items())
        if (earlier := before.reads.get(where)) is not None and earlier.after != read.first
    )
    return Finding(
        flow=batch.flow,
        kind=FindingKind.MISSING_BATCH,
        message=f"{which} not in the history" + (f": offsets of {parts}" if parts else ""),
        batch_id=first,
    )


def _break(batch: BatchRecord, where: TopicPartition, ended: Offset, begins: Offset) -> Finding:
    is_gap = begins > ended
    told = "were not read" if is_gap else "were read twice"
    return Finding(
        flow=batch.flow,
        kind=FindingKind.GAP if is_gap else FindingKind.OVERLAP,
        message=f"batch {batch.batch_id} begins at offset {begins} of `{where}`, the one before "
        f"ended at {ended}: {abs(begins - ended)} offsets {told}",
        batch_id=batch.batch_id,
        partition=where,
        first=min(begins, ended),
        after=max(begins, ended),
    )


def _sum_findings(before: BatchRecord, batch: BatchRecord) -> Iterator[Finding]:
    """Compare what a batch has written with how much the totals of its lanes have grown."""
    if before.totals is None or batch.totals is None:
        return
    for topic in sorted({*before.totals, *batch.totals}):
        grown = batch.totals.get(topic, 0) - before.totals.get(topic, 0)
        if grown != batch.written.get(topic, 0):
            told = f"wrote {batch.written.get(topic, 0)} records to `{topic}`"
            message = f"{told}, and the totals of its lanes have grown by {grown}"
            yield _finding(batch, FindingKind.LEDGER, message)
    whole = mixed(before.total_fingerprints, batch.fingerprints)
    for topic, fingerprint in batch.total_fingerprints.items():
        if topic in before.total_fingerprints and whole.get(topic, 0) != fingerprint:
            message = f"has another fingerprint in `{topic}` than by the totals of its lanes"
            yield _finding(batch, FindingKind.LEDGER, message)


def _batch_findings(batch: BatchRecord, notes: list[str]) -> Iterator[Finding]:
    for where, read in sorted(batch.reads.items()):
        if read.rows is not None and read.rows > read.after - read.first:
            message = (
                f"batch {batch.batch_id} read {read.rows} records of `{where}` from {read.first} "
                f"to {read.after}, which can hold {read.after - read.first}"
            )
            if batch.is_stateful:  # Spark counts a part of a shuffle again that it makes again
                notes.append(f"{message}: an executor was lost")
                continue
            yield Finding(
                flow=batch.flow,
                kind=FindingKind.OVERREAD,
                message=message,
                batch_id=batch.batch_id,
                partition=where,
                first=read.first,
                after=read.after,
            )
    if batch.totals is None or batch.produced is None:
        return
    written = sum(batch.written.values())
    if batch.produced != written:
        what = f"returned {batch.produced} rows, and {written} records are written"
        yield _finding(batch, FindingKind.OUTPUT, what)


def _letters_behind(
    batches: Sequence[BatchRecord], letters: Sequence[LettersRecord]
) -> list[int | None]:
    """Return how many dead letters were noted behind each batch; None: none were, so far.

    A note is about all batches since the note before it, up to the one that it names.
    """
    births: dict[str, datetime] = {}
    for batch in batches:
        births.setdefault(batch.query_id, batch.started)
    found: list[int | None] = [None] * len(batches)
    for letter in letters:
        born = [query_id for query_id, birth in births.items() if birth <= letter.at]
        query_id = born[-1] if born else batches[0].query_id
        own = [place for place, batch in enumerate(batches) if batch.query_id == query_id]
        if letter.batch_id < batches[own[0]].first_batch_id:
            continue  # about batches that are not looked at
        place = next((it for it in own if batches[it].batch_id >= letter.batch_id), own[-1])
        found[place] = (found[place] or 0) + letter.count
    return found


def _proven_letters(batches: Sequence[BatchRecord], entries: Mapping[str, LaneEntry]) -> int | None:
    """Return how many dead letters the ledger knows of all batches of a checkpoint.

    None where `batches` are not all that it ever had. Better than the notes of drivers, of which
    one that dies may take its last along.
    """
    first, query_ids = batches[0], {batch.query_id for batch in batches}
    own = [entry for entry in entries.values() if entry.query_id == first.query_id]
    if not own or first.first_batch_id > 0 or len(query_ids) > 1:
        return None
    return sum(count for entry in own for count in entry.totals.values())


def _letter_findings(
    batches: Sequence[BatchRecord], letters: Sequence[int | None], settled: datetime
) -> Iterator[Finding]:
    """Compare each note of dead letters with the batches that it is about."""
    expected, last = 0, None
    following = [batch.query_id for batch in batches[1:]]
    for batch, found, next_id in zip_longest(batches, letters, following):
        if batch.undecodable and batch.ended <= settled:
            expected, last = expected + batch.undecodable, batch
        if found is None and next_id == batch.query_id:
            continue
        if last is not None and (found or 0) < expected:
            yield Finding(
                flow=batch.flow,
                kind=FindingKind.DEAD_LETTERS,
                message=f"{expected} records were undecodable, and {found or 0} dead letters are "
                "written",
                batch_id=last.batch_id,
            )
        expected, last = 0, None


def _ledger_of(entries: Mapping[str, LaneEntry], last: BatchRecord) -> Written | None:
    """Return what the ledger says of all batches up to the last in the history."""
    if last.totals is None and not any(it.query_id == last.query_id for it in entries.values()):
        return None
    return up_to(entries.values(), last.query_id, last.batch_id)


def up_to(entries: Iterable[LaneEntry], query_id: str, batch_id: int) -> Written:
    """Return what lanes with these entries had written up to a batch, that one included.

    Each lane may have written some of the next one, and tells how much.
    """
    earlier = [
        entry
        if entry.batch_id <= batch_id
        else replace(
            entry,
            counts={},
            fingerprints={},
            totals={
                topic: count - entry.counts.get(topic, 0) for topic, count in entry.totals.items()
            },
            total_fingerprints=mixed(entry.total_fingerprints, entry.fingerprints),
        )
        for entry in entries
    ]
    return written_by(earlier, query_id, batch_id)


def _ledger_findings(
    last: BatchRecord, entries: Mapping[str, LaneEntry], ledger: Written
) -> Iterator[Finding]:
    own = [entry.batch_id for entry in entries.values() if entry.query_id == last.query_id]
    ahead = max(own, default=-1) - last.batch_id
    if ahead > 1:
        message = f"is the last in the history, and the ledger has batch {last.batch_id + ahead}"
        yield _finding(last, FindingKind.MISSING_BATCH, message)
        return
    if last.totals is None:
        return
    if not own and any(last.totals.values()):
        queries = sorted({entry.query_id for entry in entries.values()})
        known = f"entries of query {', '.join(queries)}" if queries else "no entries of this flow"
        message = f"is of query {last.query_id}, and the ledger has {known}"
        yield _finding(last, FindingKind.LEDGER, message)
        return
    for topic in sorted({*ledger.totals, *last.totals}):
        here, there = last.totals.get(topic, 0), ledger.totals.get(topic, 0)
        if here != there:
            message = f"ends at {here} records in `{topic}`, and the ledger has {there}"
            yield _finding(last, FindingKind.LEDGER, message)
    for topic, fingerprint in last.total_fingerprints.items():
        if ledger.total_fingerprints.get(topic) != fingerprint:
            message = f"ends with another fingerprint in `{topic}` than the ledger has"
            yield _finding(last, FindingKind.LEDGER, message)


def _finding(batch: BatchRecord, kind: FindingKind, message: str) -> Finding:
    return Finding(
        flow=batch.flow,
        kind=kind,
        message=f"batch {batch.batch_id} {message}",
        batch_id=batch.batch_id,
    )
