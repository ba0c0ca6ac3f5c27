"""What is missing of a topic, by its id and its offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.engine.data_loss import LossReason, TopicState, find_loss
from penstock.engine.quarantine import ranges_between
from penstock.kafka import TopicIdentity, TopicPartition
from penstock.names import Offset, Partition
from support.declared import declared_topic

if TYPE_CHECKING:
    from penstock.engine.events import Offsets

LINES = declared_topic("lines")


def at(*offsets: int) -> Offsets:
    """Return the offset of each partition, from 0 on."""
    return {
        TopicPartition(LINES.kafka_name, Partition(number)): Offset(offset)
        for number, offset in enumerate(offsets)
    }


def state(firsts: Offsets, ends: Offsets, topic_id: str = "id") -> TopicState:
    identity = TopicIdentity(topic_id=topic_id, partitions=tuple(firsts))
    return TopicState(identity=identity, firsts=firsts, ends=ends)


def test_nothing_is_lost_when_all_that_is_unread_is_there() -> None:
    now = state(at(3, 0), at(9, 4))
    assert find_loss(LINES, now, known_id="id", reached=at(3, 4)) is None


def test_a_topic_that_was_never_read_has_lost_nothing() -> None:
    assert find_loss(LINES, state(at(3), at(9)), known_id=None, reached={}) is None


@pytest.mark.parametrize(
    ("now", "reached", "reason", "moved"),
    [
        pytest.param(
            state(at(0, 0), at(9, 9), "new"), at(5), LossReason.RECREATED, at(0, 0), id="recreated"
        ),
        pytest.param(state(at(7), at(9)), at(5), LossReason.EXPIRED, at(7), id="expired"),
        pytest.param(
            state(at(0, 2), at(9, 9)), at(5), LossReason.EXPIRED, at(5, 2), id="added partition"
        ),
        pytest.param(state(at(0), at(3)), at(5), LossReason.TRUNCATED, at(3), id="truncated"),
        pytest.param(
            state(at(0), at(9)), at(5, 5), LossReason.TRUNCATED, at(5), id="partition gone"
        ),
    ],
)
def test_a_loss_says_why_and_where_to_go_on(
    now: TopicState, reached: Offsets, reason: LossReason, moved: Offsets
) -> None:
    loss = find_loss(LINES, now, known_id="id", reached=reached)
    assert loss is not None
    assert (loss.reason, loss.moved(reached)) == (reason, moved)


def test_expired_records_are_counted_by_partition() -> None:
    loss = find_loss(LINES, state(at(7, 1), at(9, 9)), known_id="id", reached=at(5, 1))
    assert loss is not None
    assert loss.lost == {TopicPartition(LINES.kafka_name, Partition(0)): 2}


def test_ranges_hold_what_was_read_between_two_states_and_still_exists() -> None:
    zero, one, two = at(0, 0, 0)
    found = ranges_between(at(3, 4), at(9, 4, 6), {zero: Offset(5), two: Offset(1)})
    assert found == {zero: (5, 9), two: (1, 6)}
    assert one not in found
