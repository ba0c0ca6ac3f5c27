"""The judge of the crash harness sees what is missing, what is too much, and what is swapped."""

from __future__ import annotations

from collections import Counter

from support.crash_harness.judge import Output, differences, duplicates, expected, missing
from support.crash_harness.pipeline import START
from support.crash_harness.sender import Acknowledged, partition_of


def acknowledged(*numbers: int) -> list[Acknowledged]:
    return [
        Acknowledged(partition=partition_of(number), offset=offset, number=number)
        for offset, number in enumerate(numbers)
    ]


def wanted() -> Output:
    """Return what must come out for 1, 2, 12, 20, which was sent twice, and 23."""
    return expected(acknowledged(1, 2, 12, 20, 20, 23), acknowledged(20))


def changed(output: Output, flow: str, rows: Counter[tuple[int, ...]]) -> Output:
    return Output(rows={**output.rows, flow: rows}, by_account=output.by_account)


def test_what_must_come_out_is_told_by_hand() -> None:
    output = wanted()

    assert output.rows["keep"] == Counter({(1, 1): 1, (2, 2): 1, (20, 9): 2, (23, 1): 1})
    assert output.rows["pair"] == Counter({(20, 40): 2})
    assert output.rows["add_up"] == Counter(
        {(1, START, 1, 1): 1, (2, START, 25, 2): 1, (5, START, 12, 1): 1, (6, START, 20, 1): 1}
    )
    assert output.by_account == {1: [1, 23], 2: [2], 9: [20, 20]}


def test_each_difference_is_told() -> None:
    output = wanted()
    keep, pair = output.rows["keep"], output.rows["pair"]
    lost = changed(output, "keep", keep - Counter([(1, 1)]))
    twice = changed(output, "pair", pair + Counter([(20, 40)]))
    swapped = Output(rows=output.rows, by_account={**output.by_account, 1: [23, 1]})

    assert differences(output, output) == []
    assert differences(output, lost) == ["keep: 1 missing, such as [(1, 1)]"]
    assert differences(output, twice) == ["pair: 1 too often, such as [(20, 40)]"]
    assert differences(output, swapped) == ["keep: account 1 is out of order"]
    assert (missing(output, lost), duplicates(output, lost)) == (1, 0)
    assert (missing(output, twice), duplicates(output, twice)) == (0, 1)
