from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka.partitioning import partition_for_key
from penstock.kafka.topics.key_moves import KeyMove, key_move

keys = st.lists(st.none() | st.binary(max_size=20), max_size=100)
counts = st.integers(1, 50)


@given(keys=keys, old=counts, new=counts)
def test_a_key_moves_when_the_two_counts_give_it_different_partitions(
    keys: list[bytes | None], old: int, new: int
) -> None:
    distinct = {key for key in keys if key is not None}
    elsewhere = [
        key for key in distinct if partition_for_key(key, old) != partition_for_key(key, new)
    ]

    assert key_move(keys, old_count=old, new_count=new) == KeyMove(
        old_count=old,
        new_count=new,
        record_count=len(keys),
        key_count=len(distinct),
        moved_keys=len(elsewhere),
    )


@given(keys=keys, count=counts)
def test_no_key_moves_when_the_count_stays(keys: list[bytes | None], count: int) -> None:
    assert key_move(keys, old_count=count, new_count=count).moved_keys == 0


@given(keys=keys, count=counts)
def test_doubling_leaves_a_key_or_moves_it_by_the_old_count(
    keys: list[bytes | None], count: int
) -> None:
    distinct = {key for key in keys if key is not None}
    moved = {key for key in distinct if partition_for_key(key, 2 * count) >= count}

    assert key_move(keys, old_count=count, new_count=2 * count).moved_keys == len(moved)


def test_records_without_keys_have_no_share_to_move() -> None:
    move = key_move([None, None], old_count=3, new_count=8)

    assert (move.record_count, move.key_count, move.share) == (2, 0, 0.0)


def test_from_three_to_eight_partitions_most_keys_move() -> None:
    move = key_move([str(i).encode() for i in range(1000)], old_count=3, new_count=8)

    assert move == KeyMove(
        old_count=3, new_count=8, record_count=1000, key_count=1000, moved_keys=869
    )
    assert move.share == 0.869
