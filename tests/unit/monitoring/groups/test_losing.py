"""Time to data loss: arithmetic of what retention leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.monitoring.groups.losing import (
    KEEPS_ALL,
    Loss,
    Retention,
    Unread,
    decisive,
    loss_of,
    retention_of,
)

NOW = 1_000_000.0
DAY = 86_400.0


def unread(
    *,
    age: float | None = 10.0,
    records: int = 100,
    rate: float | None = 0.0,
    size: float | None = None,
) -> Unread:
    return Unread(
        since=None if age is None else NOW - age,
        records=records,
        records_per_second=rate,
        bytes_per_record=size,
    )


def test_time_is_left_until_the_oldest_unread_record_is_as_old_as_the_retention() -> None:
    loss = loss_of(unread(age=6 * DAY), Retention(seconds=7 * DAY), at=NOW)
    assert loss == Loss(at=NOW + DAY, span=7 * DAY)


def test_what_is_older_than_the_retention_may_go_now() -> None:
    loss = loss_of(unread(age=8 * DAY), Retention(seconds=7 * DAY), at=NOW)
    assert loss is not None
    assert (loss.at, loss.margin(NOW)) == (NOW, 0)


def test_a_topic_that_keeps_all_loses_nothing() -> None:
    assert loss_of(unread(age=900 * DAY, rate=1e9, size=1e9), KEEPS_ALL, at=NOW) is None


def test_size_leaves_time_until_the_unread_bytes_fill_it() -> None:
    kept = Retention(size_bytes=10_000)
    loss = loss_of(unread(records=40, rate=2.0, size=100.0), kept, at=NOW)
    # 4,000 of 10,000 bytes are unread, and 200 come in a second.
    assert loss == Loss(at=NOW + 30, span=50)
    assert loss.margin(NOW) == 0.6


def test_a_partition_that_does_not_grow_loses_nothing_by_size() -> None:
    assert loss_of(unread(rate=0.0, size=100.0), Retention(size_bytes=20_000), at=NOW) is None


def test_the_first_of_two_limits_decides() -> None:
    kept = Retention(seconds=100, size_bytes=10_000)
    by_time = loss_of(unread(age=90, records=1, rate=1.0, size=1.0), kept, at=NOW)
    by_size = loss_of(unread(age=10, records=99, rate=1.0, size=100.0), kept, at=NOW)
    assert (by_time, by_size) == (
        Loss(at=NOW + 10, span=100),
        Loss(at=NOW + 1, span=100),
    )


def test_what_is_not_known_is_not_guessed() -> None:
    kept = Retention(seconds=100, size_bytes=100)
    assert loss_of(unread(age=None, size=None), kept, at=NOW) is None


@given(
    age=st.floats(0, 1e9),
    retention=st.floats(0, 1e9),
    records=st.integers(1, 10**12),
    rate=st.floats(0, 1e6),
    size=st.floats(0.1, 1e6),
    limit=st.integers(0, 10**15),
    more=st.floats(0, 1e6),
)
def test_a_loss_is_never_in_the_past_and_never_later_for_older_records(
    *, age: float, retention: float, records: int, rate: float, size: float, limit: int, more: float
) -> None:
    kept = Retention(seconds=retention, size_bytes=limit)
    young = loss_of(unread(age=age, records=records, rate=rate, size=size), kept, at=NOW)
    old = loss_of(unread(age=age + more, records=records + 1, rate=rate, size=size), kept, at=NOW)
    assert young is not None
    assert old is not None
    assert NOW <= old.at <= young.at
    assert 0 <= young.margin(NOW) <= 1


def test_what_is_left_shrinks_as_time_goes_by() -> None:
    loss = loss_of(unread(age=DAY), Retention(seconds=7 * DAY), at=NOW)
    assert loss is not None
    assert [loss.margin(NOW + days * DAY) for days in (0, 3, 6, 9)] == pytest.approx(
        [6 / 7, 3 / 7, 0, 0]
    )


@given(
    losses=st.lists(
        st.builds(Loss, at=st.floats(0, 1e7), span=st.floats(0, 1e7)), min_size=1, max_size=20
    ),
    at=st.floats(0, 1e7),
)
def test_the_decisive_losses_know_the_smallest_margin_at_any_time(
    losses: list[Loss], at: float
) -> None:
    kept = decisive(losses)

    assert kept[0].at == min(loss.at for loss in losses)
    assert min(loss.margin(at) for loss in kept) == min(loss.margin(at) for loss in losses)


@pytest.mark.parametrize(
    ("policy", "milliseconds", "size", "wanted"),
    [
        ("delete", "604800000", "-1", Retention(seconds=604_800)),
        ("delete", "-1", "1000", Retention(size_bytes=1000)),
        ("compact,delete", "1000", "-1", Retention(seconds=1)),
        ("compact", "604800000", "1000", KEEPS_ALL),
        ("delete", "0", "-1", Retention(seconds=0)),
    ],
)
def test_configs_say_what_is_kept(
    policy: str, milliseconds: str, size: str, wanted: Retention
) -> None:
    found = retention_of(cleanup_policy=policy, milliseconds=milliseconds, size_bytes=size)
    assert found == wanted
