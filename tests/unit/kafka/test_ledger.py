from __future__ import annotations

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka.lanes.fingerprints import fingerprint_of
from penstock.kafka.lanes.ledger import LaneEntry, added, mixed
from penstock.names import TopicName

WORDS, MORE = TopicName("words"), TopicName("more")
SOME = st.none() | st.binary(max_size=80)
Records = list[tuple[bytes | None, bytes | None]]


def test_an_entry_is_read_as_it_was_written() -> None:
    entry = LaneEntry(
        query_id="8f4f",
        batch_id=3,
        plan="p",
        counts={WORDS: 2},
        totals={WORDS: 5},
        fingerprints={WORDS: 2**64 - 1},
        total_fingerprints={WORDS: 7},
    )

    assert LaneEntry.from_bytes(entry.to_bytes()) == entry


def test_entries_of_older_versions_have_no_fingerprints() -> None:
    old = {"query_id": "q", "batch_id": 1, "plan": "p", "counts": {"words": 1}, "totals": {}}

    entry = LaneEntry.from_bytes(json.dumps(old).encode())

    assert entry.counts == {WORDS: 1}
    assert entry.total_fingerprints == {}


def test_counts_are_added_and_fingerprints_mixed_topic_by_topic() -> None:
    assert added({WORDS: 1}, {WORDS: 2, MORE: 1}) == {WORDS: 3, MORE: 1}
    assert mixed({WORDS: 5}, {WORDS: 6, MORE: 1}) == {WORDS: 3, MORE: 1}


def test_a_fingerprint_is_what_spark_computes() -> None:
    """The numbers are those of `SELECT xxhash64(key, value)` of Spark 4.2."""
    content = bytes(range(256))

    found = [
        fingerprint_of([key], [value])
        for key, value in [
            (None, None),
            (None, b""),
            (None, b"Spark"),
            (b"k", b"Spark"),
            (b"k", content[:31]),
            (b"k", content[:32]),
            (content[:40], content),
        ]
    ]

    assert [number - 2**64 if number >= 2**63 else number for number in found] == EXPECTED


EXPECTED = [
    42,
    -7444071767201028348,
    -4294468057691064905,
    -6261517093752858528,
    -994878136083317231,
    -2612384083357113154,
    4390651858254021663,
]


@given(st.lists(st.tuples(SOME, SOME)))
def test_the_order_of_records_does_not_matter(records: Records) -> None:
    shuffled = random.sample(records, len(records))

    def whole(some: Records) -> int:
        return fingerprint_of([key for key, _ in some], [value for _, value in some])

    assert whole(shuffled) == whole(records)
    assert whole(records[:1]) ^ whole(records[1:]) == whole(records)
