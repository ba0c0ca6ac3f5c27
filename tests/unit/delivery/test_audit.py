"""The arithmetic of an audit: what adds up, and each way in which it does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delivery.audit import FindingKind, FlowAudit, audit_flow, behind_by
from penstock.delivery.records import (
    BatchRecord,
    LettersRecord,
    LossRecord,
    PartitionRead,
    from_bytes,
    to_bytes,
)
from penstock.names import Offset, PipelineName
from support.history import COPY, LINES, QUERY, WORDS, batches, entry_behind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.delivery.records import HistoryRecord
    from penstock.kafka.lanes.ledger import LaneEntry

NOW = datetime.now(UTC)
SHOP = PipelineName("shop")


def audited(
    records: Sequence[HistoryRecord], entries: Mapping[str, LaneEntry] | None = None
) -> FlowAudit:
    last = max((it for it in records if isinstance(it, BatchRecord)), key=lambda it: it.batch_id)
    entries = {"lines-0": entry_behind(last)} if entries is None else entries
    found = audit_flow(COPY, records, entries, settled=NOW - timedelta(minutes=1))
    assert found is not None
    return found


def told(
    records: Sequence[HistoryRecord], entries: Mapping[str, LaneEntry] | None = None
) -> list[tuple[FindingKind, str]]:
    return [(it.kind, it.message) for it in audited(records, entries).findings]


def honest() -> tuple[list[BatchRecord], dict[str, LaneEntry]]:
    found = batches(10, 5, 7)
    return found, {"lines-0": entry_behind(found[-1])}


def reading(batch: BatchRecord, first: int, after: int, rows: int) -> BatchRecord:
    read = PartitionRead(first=Offset(first), after=Offset(after), rows=rows)
    return replace(batch, reads={LINES: read})


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8))
def test_honest_batches_add_up(sizes: list[int]) -> None:
    found = batches(*sizes)
    audit = audited(found, {"lines-0": entry_behind(found[-1])})

    assert audit.findings == ()
    assert audit.filtered == 0
    assert audit.written == {WORDS: sum(sizes)}
    assert audit.rows == {LINES: sum(sizes)}


@given(st.permutations(range(3)))
def test_the_order_of_records_does_not_matter(order: list[int]) -> None:
    found, entries = honest()

    assert told([found[number] for number in order], entries) == []


@pytest.mark.parametrize("record", [*batches(3), replace(batches(3)[0], totals=None)])
def test_a_record_is_read_as_it_was_written(record: BatchRecord) -> None:
    assert from_bytes(to_bytes(record)) == record


def test_a_gap_and_an_overlap_are_named_with_offsets() -> None:
    first, second, third = batches(10, 5, 7)
    later = reading(second, 12, 17, 5), reading(third, 16, 22, 6)
    gap, overlap = audited([first, *later]).findings

    assert (gap.kind, gap.batch_id, gap.partition) == (FindingKind.GAP, 1, LINES)
    assert (gap.first, gap.after) == (10, 12)
    assert gap.message == (
        "batch 1 begins at offset 12 of `lines-0`, the one before ended at 10: 2 offsets were not "
        "read"
    )
    assert (overlap.kind, overlap.first, overlap.after) == (FindingKind.OVERLAP, 16, 17)


def test_a_gap_is_explained_by_records_that_were_lost() -> None:
    first, second = batches(10, 5)
    loss = LossRecord(
        pipeline=SHOP, flow=COPY, at=second.started, topic=LINES.topic, reason="retention", count=2
    )
    found = audited([first, loss, reading(second, 12, 17, 5)])

    assert found.findings == ()
    assert [note.partition(": ")[2] for note in found.notes] == [
        "up to 2 records of `lines` were lost: retention"
    ]


def test_a_new_checkpoint_is_a_new_beginning_and_what_it_reads_again_is_told() -> None:
    first, second = batches(10, 5)
    later = second.ended + timedelta(minutes=5)
    anew, again, ahead = (
        reading(batch, begins, begins + 3, 3)
        for begins, batch in zip(
            (15, 0, 20), batches(3, begun=later, query_id="anew") * 3, strict=True
        )
    )

    def notes(new: BatchRecord) -> list[str]:
        found = audited([first, second, new], {})
        return [note.partition(": ")[2] for note in found.notes]

    assert notes(anew) == ["a new checkpoint: it goes on where the one before ended"]
    assert notes(again) == ["a new checkpoint: offsets 0 to 15 of `lines-0` were read again"]
    assert notes(ahead) == ["a new checkpoint: offsets 15 to 20 of `lines-0` were not read"]


def test_a_batch_that_is_missing_is_named_with_offsets() -> None:
    first, _, third = batches(10, 5, 7)

    assert told([first, third]) == [
        (
            FindingKind.MISSING_BATCH,
            "batch 1 is not in the history: offsets of `lines-0` 10 to 15",
        )
    ]


def test_a_batch_that_is_noted_twice_must_be_the_same() -> None:
    found, entries = honest()
    again = replace(found[1], started=NOW, produced=None, recounted=True)

    assert told([*found, again], entries) == []
    assert told([*found, reading(again, 10, 14, 4)], entries) == [
        (FindingKind.CONTRADICTION, "batch 1 is noted twice, and differently")
    ]


def test_more_cannot_be_read_than_there_is() -> None:
    (batch,) = batches(10)
    doubled = reading(batch, 0, 10, 20)

    assert told([doubled]) == [
        (
            FindingKind.OVERREAD,
            "batch 0 read 20 records of `lines-0` from 0 to 10, which can hold 10",
        )
    ]
    assert audited([replace(doubled, is_stateful=True)]).findings == ()


def test_less_is_read_than_offsets_between_markers() -> None:
    (batch,) = batches(10)

    assert told([reading(batch, 0, 14, 10)]) == []


def test_what_was_returned_is_written() -> None:
    (batch,) = batches(10)

    assert told([replace(batch, produced=11)]) == [
        (FindingKind.OUTPUT, "batch 0 returned 11 rows, and 10 records are written")
    ]


def test_undecodable_records_are_dead_letters_in_time() -> None:
    batch = replace(batches(10)[0], undecodable=2)
    letter = LettersRecord(pipeline=SHOP, flow=COPY, at=NOW, batch_id=0, count=1)
    missing = (
        FindingKind.DEAD_LETTERS,
        "2 records were undecodable, and 1 dead letters are written",
    )

    assert told([batch, letter]) == [missing]
    assert told([batch, replace(letter, count=2)]) == []
    assert told([replace(batch, ended=NOW), letter]) == []


def test_the_ledger_proves_dead_letters_of_which_a_driver_that_died_left_no_note() -> None:
    found = [replace(batch, undecodable=2) for batch in batches(10, 5)]
    entry = replace(entry_behind(found[-1]), totals={WORDS: 4})
    settled = NOW - timedelta(minutes=1)

    def dead_letters(*records: BatchRecord, totals: int) -> tuple[int, int]:
        letters = {"lines": replace(entry, totals={WORDS: totals})}
        audit = audit_flow(COPY, records, None, letters, settled=settled)
        assert audit is not None
        return audit.dead_letters, len(audit.findings)

    assert dead_letters(*found, totals=4) == (4, 0)
    assert dead_letters(*found, totals=3) == (0, 1)
    # What it says of all batches proves nothing of some.
    assert dead_letters(found[1], totals=4) == (0, 1)


def test_dead_letters_of_other_batches_hide_none_that_are_missing() -> None:
    """Of batches before the range, behind it, of another note, and of another checkpoint."""
    found = [replace(batch, undecodable=2) for batch in batches(10, 5, 7, 4)]
    early, late = found[1:], found[:3]
    missing = "2 records were undecodable, and 1 dead letters are written"

    def letters(*counts: int) -> list[LettersRecord]:
        return [
            LettersRecord(
                pipeline=SHOP, flow=COPY, at=batch.ended, batch_id=batch.batch_id, count=count
            )
            for batch, count in zip(found, counts, strict=False)
        ]

    def of_letters(records: Sequence[HistoryRecord], to: datetime | None = None) -> list[str]:
        result = audit_flow(COPY, records, None, settled=NOW - timedelta(minutes=1), to=to)
        assert result is not None
        kind = FindingKind.DEAD_LETTERS
        return [it.message for it in result.findings if it.kind is kind]

    assert of_letters([*found, *letters(2, 2, 2, 2)]) == []
    assert of_letters([*found, *letters(2, 1, 3, 2)]) == [missing]
    assert of_letters([*early, *letters(2, 1, 2, 2)]) == [missing]
    assert of_letters([*found, *letters(2, 2, 1, 9)], to=late[-1].ended) == [missing]
    anew = [
        replace(batch, query_id="anew", started=batch.started + timedelta(minutes=5))
        for batch in batches(3)
    ]
    again = [replace(item, at=anew[0].started, batch_id=0, count=5) for item in letters(5)]
    assert of_letters([*found, *letters(2, 2, 2, 1), *anew, *again]) == [missing]


def test_a_note_of_dead_letters_is_about_all_batches_since_the_one_before() -> None:
    found = [replace(batch, undecodable=1) for batch in batches(10, 5, 7)]
    letter = LettersRecord(pipeline=SHOP, flow=COPY, at=NOW, batch_id=2, count=3)

    assert told([*found, letter]) == []
    assert audited([*found, letter]).dead_letters == 3
    assert told([*found, replace(letter, count=2)]) == [
        (FindingKind.DEAD_LETTERS, "3 records were undecodable, and 2 dead letters are written")
    ]


def test_the_ledger_may_know_of_a_batch_more() -> None:
    found = batches(10, 5, 7)
    entries = {"lines-0": entry_behind(found[-1])}

    assert told(found[:2], entries) == []
    assert behind_by(entries.values(), found[:2]) == 0
    assert behind_by(entries.values(), found[:1]) == 1
    assert told(found[:1], entries) == [
        (
            FindingKind.MISSING_BATCH,
            "batch 0 is the last in the history, and the ledger has batch 2",
        )
    ]


def test_the_ledger_must_not_be_behind() -> None:
    found = batches(10, 5)

    assert told(found, {"lines-0": entry_behind(found[0])}) == [
        (FindingKind.LEDGER, "batch 1 ends at 15 records in `words`, and the ledger has 10"),
        (
            FindingKind.LEDGER,
            "batch 1 ends with another fingerprint in `words` than the ledger has",
        ),
    ]


def test_contents_that_were_swapped_are_found_by_their_fingerprint() -> None:
    found, entries = honest()
    entries["lines-0"] = replace(entries["lines-0"], total_fingerprints={WORDS: 1})

    assert [kind for kind, _ in told(found, entries)] == [FindingKind.LEDGER]
    found[1] = replace(found[1], fingerprints={WORDS: 99})
    assert (
        FindingKind.LEDGER,
        "batch 1 has another fingerprint in `words` than by the totals of its lanes",
    ) in told(found, entries)


def test_totals_grow_by_what_is_written() -> None:
    found, entries = honest()
    found[1] = replace(found[1], written={WORDS: 4}, produced=4)

    assert told(found, entries) == [
        (
            FindingKind.LEDGER,
            "batch 1 wrote 4 records to `words`, and the totals of its lanes have grown by 5",
        )
    ]


def test_entries_of_another_checkpoint_are_no_proof() -> None:
    found, entries = honest()
    entries["lines-0"] = replace(entries["lines-0"], query_id="other")

    assert told(found, entries) == [
        (
            FindingKind.LEDGER,
            f"batch 2 is of query {QUERY}, and the ledger has entries of query other",
        )
    ]


def test_another_checkpoint_is_another_beginning() -> None:
    old = batches(10, 5)
    new = batches(3, 4, query_id="new", begun=NOW - timedelta(minutes=30))
    audit = audited([*old, *new], {"lines-0": entry_behind(new[-1])})

    assert audit.findings == ()
    assert audit.query_id == "new"
    assert audit.written == {WORDS: 22}


def test_later_batches_and_the_ledger_are_left_out() -> None:
    found = batches(10, 5, 7)
    audit = audit_flow(COPY, found, {}, settled=NOW, to=found[1].ended)

    assert audit is not None
    assert (len(audit.batches), audit.ledger) == (2, None)
    assert audit_flow(COPY, found, {}, settled=NOW, to=found[0].started) is None


def test_what_a_flow_with_state_returns_says_nothing_of_a_filter() -> None:
    (batch,) = batches(10)

    assert audited([replace(batch, produced=4, written={WORDS: 4})]).filtered == 6
    assert audited([replace(batch, produced=None)]).filtered is None
    assert audited([replace(batch, is_stateful=True)]).filtered is None
