"""Lag from positions, ends and timestamps."""

from datetime import timedelta

from penstock.monitoring.lag import flow_lag, partition_lags, with_held
from penstock.names import Offset, Partition, TopicName
from support.pipeline_events import DETECT, NOON, at, offsets

FIRST, SECOND = offsets(0, 0)


def test_lag_is_what_lies_between_position_and_end() -> None:
    assert partition_lags(offsets(10, 20), offsets(15, 20)) == {FIRST: 5, SECOND: 0}


def test_a_partition_that_no_batch_has_read_counts_from_its_start() -> None:
    assert partition_lags(offsets(10), offsets(10, 7)) == {FIRST: 0, SECOND: 7}


def test_topics_of_other_flows_do_not_count() -> None:
    other = {type(FIRST)(TopicName("others"), Partition(0)): Offset(9)}

    assert partition_lags(offsets(10), {**offsets(12), **other}) == {FIRST: 2}


def test_an_end_before_the_position_is_no_lag() -> None:
    assert partition_lags(offsets(10), offsets(3)) == {FIRST: 0}


def test_seconds_are_the_age_of_the_oldest_record_of_all_partitions() -> None:
    oldest = {FIRST: at(-3), SECOND: at(-8)}

    lag = flow_lag(DETECT, offsets(0, 0), {FIRST: 1, SECOND: 2}, oldest, at=NOON)

    assert (lag.records, lag.seconds, lag.by_partition) == (3, 8.0, {FIRST: 1, SECOND: 2})


def test_a_flow_that_has_read_all_is_zero_seconds_behind() -> None:
    lag = flow_lag(DETECT, offsets(5), {FIRST: 0}, {}, at=NOON)

    assert (lag.records, lag.seconds) == (0, 0.0)


def test_an_unknown_part_makes_the_sum_unknown_and_not_smaller() -> None:
    lag = flow_lag(DETECT, offsets(0, 0), {FIRST: 4}, {FIRST: NOON}, at=NOON)

    assert (lag.records, lag.seconds, lag.by_partition) == (None, None, {FIRST: 4})


def test_an_unknown_timestamp_leaves_the_records_known() -> None:
    lag = flow_lag(DETECT, offsets(0, 0), {FIRST: 4, SECOND: 1}, {FIRST: at(-1)}, at=NOON)

    assert (lag.records, lag.seconds) == (5, None)


def test_where_only_markers_of_transactions_follow_nothing_waits() -> None:
    lag = flow_lag(DETECT, offsets(0), {FIRST: 1}, {FIRST: None}, at=NOON)

    assert (lag.records, lag.seconds) == (1, 0.0)


def test_records_from_the_future_are_not_behind() -> None:
    ahead = {FIRST: NOON + timedelta(seconds=30)}

    assert flow_lag(DETECT, offsets(0), {FIRST: 1}, ahead, at=NOON).seconds == 0.0


def test_what_is_behind_open_transactions_is_counted_from_the_later_of_both_places() -> None:
    lag = flow_lag(DETECT, offsets(2, 8), {FIRST: 8, SECOND: 2}, {}, at=NOON)

    held = with_held(lag, offsets(2, 8), offsets(6, 5), {FIRST: at(-3), SECOND: at(-5)})
    free = with_held(lag, offsets(2, 8), offsets(10, 11), {})
    unknown = with_held(lag, offsets(2, 8), offsets(6), {FIRST: at(-3)})

    assert (held.held_records, held.held_since) == (4 + 2, at(-5))
    assert (free.held_records, free.held_since) == (0, None)
    assert (unknown.held_records, unknown.held_since) == (None, None)
