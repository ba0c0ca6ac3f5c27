"""When did the record at an offset come? Told by the ends that were seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.monitoring.groups.ends import EndHistory


def history(*points: tuple[float, int]) -> EndHistory:
    found = EndHistory()
    for at, end in points:
        found.note(end, at=at)
    return found


def test_a_record_between_two_looks_came_between_them() -> None:
    assert history((100, 0), (110, 10)).arrival(5) == pytest.approx(105)


def test_a_partition_that_stood_still_got_its_next_record_after_the_last_look_of_that() -> None:
    still = history((100, 5), (110, 5), (120, 5), (130, 10))
    assert still.arrival(5) == pytest.approx(120)


def test_what_came_before_the_first_look_is_not_known() -> None:
    assert history((100, 50), (110, 60)).arrival(49) is None


def test_what_has_not_come_yet_has_no_time() -> None:
    assert history((100, 50), (110, 60)).arrival(60) is None


def test_a_topic_that_was_made_anew_has_no_past() -> None:
    anew = history((100, 50), (110, 60), (120, 3))
    assert (anew.arrival(55), anew.end, anew.first) == (None, 3, None)


def test_the_rate_is_that_of_the_last_minutes() -> None:
    assert history((0, 0), (1000, 100_000), (1600, 100_600)).rate() == pytest.approx(1)


@given(
    st.lists(st.tuples(st.integers(1, 600), st.integers(0, 10_000)), min_size=2, max_size=300),
    st.data(),
)
def test_arrivals_are_in_the_order_of_offsets_and_within_the_looks(
    steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    at, end, found = 0.0, 0, EndHistory()
    for seconds, grown in steps:
        at, end = at + seconds, end + grown
        found.note(end, at=at)
    offsets = sorted(data.draw(st.lists(st.integers(0, max(0, end)), min_size=1, max_size=20)))
    known = [moment for offset in offsets if (moment := found.arrival(offset)) is not None]
    assert known == sorted(known)
    assert all(0 <= moment <= at for moment in known)
