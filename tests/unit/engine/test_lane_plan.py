"""How the lanes of a batch are named."""

from __future__ import annotations

from itertools import permutations

from penstock.engine.exactly_once.lane_plan import Share, plan_of_shares, without_number
from penstock.engine.exactly_once.losses import ShortenedBatch

SHARES = [Share("a-0", 5, 9), Share("a-1", 0, 3), Share("a-0", 9, 12)]


def test_lanes_bear_the_names_of_what_they_read_in_whatever_order() -> None:
    whole = {("a-0", 5): "a-0", ("a-1", 0): "a-1", ("a-0", 9): "a-0.1"}
    plans = set()
    for shares in permutations(SHARES):
        plan = plan_of_shares(shares)
        assert list(plan.names) == [whole[share.name, share.first] for share in shares]
        plans.add(plan.digest)

    assert len(plans) == 1


def test_other_ranges_are_another_plan() -> None:
    plan = plan_of_shares(SHARES)

    assert plan_of_shares([Share("a-0", 5, 10), *SHARES[1:]]).digest != plan.digest
    assert plan_of_shares(SHARES[:2]).digest != plan.digest


def test_all_ranges_of_a_partition_are_lanes_of_one_name() -> None:
    lanes = ["a-0", "a-0.1", "1:b.2-13.12", "c.1-0", "7", "0:3"]

    assert [without_number(lane) for lane in lanes] == [
        "a-0",
        "a-0",
        "1:b.2-13",
        "c.1-0",
        "7",
        "0:3",
    ]


def test_of_a_batch_that_lost_records_lanes_are_done_that_may_read_what_is_written() -> None:
    """Partition 0 was read in two ranges, and is in three now."""
    lost = ShortenedBatch(query_id="q", batch_id=3, lanes=("a-0.1", "a-4"))
    names = ["a-0", "a-0.1", "a-0.2", "a-1", "a-1.1"]

    assert lost.done(names) == {"a-0", "a-0.1", "a-0.2", "a-4"}
