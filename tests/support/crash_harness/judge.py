"""What must come out, computed in plain Python from what was acknowledged; and what has."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from support.crash_harness.pipeline import (
    ACCOUNTS,
    NUMBERS_A_SECOND,
    OUTPUTS,
    REMAINDERS,
    START,
    WINDOW_SECONDS,
)
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from support.crash_harness.pipeline import PipelineUnderTest
    from support.crash_harness.sender import Acknowledged

_SHOWN = 5

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The three outputs: how often each row is there, and the order of each account."""

    rows: Mapping[str, Counter[Row]]
    by_account: Mapping[int, Sequence[int]]

    @property
    def count(self) -> int:
        """How many records there are."""
        return sum(rows.total() for rows in self.rows.values())


def expected(numbers: Iterable[Acknowledged], answers: Iterable[Acknowledged]) -> Output:
    """Return what must come out for this input."""
    in_order = sorted(numbers, key=lambda item: (item.partition, item.offset))
    sent = [item.number for item in in_order if item.number > 0]
    kept = [number for number in sent if number % 3]
    by_account = defaultdict(list)
    for number in kept:
        by_account[number % ACCOUNTS].append(number)
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number in set(sent):
        second = START + number // NUMBERS_A_SECOND
        windows[number % REMAINDERS, second - second % WINDOW_SECONDS].append(number)
    copies = Counter(sent)
    pairs = Counter[Row]()
    for answer in answers:
        if answer.number > 0:
            pairs[answer.number, 2 * answer.number] += copies[answer.number]
    sums = ((*key, sum(found), len(found)) for key, found in windows.items())
    return Output(
        rows={
            "keep": Counter((number, number % ACCOUNTS) for number in kept),
            "add_up": Counter(sums),
            "pair": pairs,
        },
        by_account=by_account,
    )


def found(bootstrap: str, tested: PipelineUnderTest) -> Output:
    """Return what readers of committed records see."""
    values = {flow: _values(bootstrap, tested.topic(name)) for flow, name in OUTPUTS.items()}
    by_account = defaultdict(list)
    for value in values["keep"]:
        by_account[value["account"]].append(value["id"])
    return Output(
        rows={
            "keep": Counter((value["id"], value["account"]) for value in values["keep"]),
            "add_up": Counter(map(_sum, values["add_up"])),
            "pair": Counter((value["id"], value["answer"]) for value in values["pair"]),
        },
        by_account=by_account,
    )


def differences(wanted: Output, found: Output) -> list[str]:
    """Return what is wrong, one sentence each; nothing if all is as it must be."""
    told = []
    for flow, rows in wanted.rows.items():
        missing, surplus = rows - found.rows[flow], found.rows[flow] - rows
        for name, some in (("missing", missing), ("too often", surplus)):
            if some:
                told.append(f"{flow}: {some.total()} {name}, such as {sorted(some)[:_SHOWN]}")
    if wanted.rows["keep"] == found.rows["keep"]:
        told += (
            f"keep: account {account} is out of order"
            for account, order in wanted.by_account.items()
            if list(found.by_account[account]) != list(order)
        )
    return told


def duplicates(wanted: Output, found: Output) -> int:
    """Return how many records are there more often than they must be."""
    return sum((found.rows[flow] - rows).total() for flow, rows in wanted.rows.items())


def missing(wanted: Output, found: Output) -> int:
    """Return how many records are not there, or not often enough."""
    return sum((rows - found.rows[flow]).total() for flow, rows in wanted.rows.items())


def _values(bootstrap: str, topic: str) -> list[Any]:
    return [json.loads(record.value or b"") for record in topic_contents(bootstrap, topic)]


def _sum(value: dict[str, Any]) -> Row:
    start = int(datetime.fromisoformat(value["start"]).timestamp())
    return value["remainder"], start, value["total"], value["count"]
