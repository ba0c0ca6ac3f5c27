"""The file of the history: bounded, one process's own, and replaced when it cannot be used."""

import logging
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.monitoring.catalog import Sample, sample
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from penstock.monitoring.history import (
    History,
    HistoryInUseError,
    HistoryReadError,
    HistoryWriteError,
    Series,
)

START = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)
KIB = 1 << 10


def lag(value: float, group: str = "a") -> Sample:
    return sample(GROUP_MAX_LAG, value, group=group)


def all_of(history: History, *, step: timedelta = DAY) -> list[Series]:
    return history.series(GROUP_MAX_LAG.name, since=START - DAY, until=START + 14 * DAY, step=step)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "console" / "history.sqlite"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path) as opened:
        yield opened


def test_two_processes_do_not_keep_the_same_history(history: History, path: Path) -> None:
    history.add(START, [lag(1)])
    with pytest.raises(HistoryInUseError, match="another process writes"):
        History.open(path)


def test_a_file_that_is_no_history_is_set_aside_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all, but long enough to look like one" * 100)

    with caplog.at_level(logging.WARNING), History.open(path) as history:
        history.add(START, [lag(1)])
        assert len(all_of(history)) == 1
    (aside,) = path.parent.glob("*.aside")
    assert aside.read_bytes().startswith(b"not a database")
    assert [record.message for record in caplog.records] == [
        "the history of metrics begins anew: the old file cannot be used and is set aside"
    ]


def test_the_file_of_a_newer_penstock_is_set_aside_as_it_is(path: Path) -> None:
    with History.open(path) as history:
        history.add(START, [lag(1)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with History.open(path) as history:
        assert all_of(history) == []
    (aside,) = path.parent.glob("*.aside")
    with closing(sqlite3.connect(aside)) as connection:
        assert connection.execute("SELECT count(*) FROM raw").fetchone() == (1,)


def test_damage_that_shows_while_writing_costs_one_round(history: History, path: Path) -> None:
    for minute in range(30):
        history.add(START + timedelta(minutes=minute), [lag(minute, f"g{n}") for n in range(50)])
    damage(path)

    with pytest.raises(HistoryWriteError):
        add_until_it_fails(history)
    history.add(START + DAY, [lag(7)])

    assert [series.points[-1].last for series in all_of(history)] == [7]


def test_damage_that_shows_while_reading_is_repaired_by_the_next_round(
    history: History, path: Path
) -> None:
    for minute in range(30):
        history.add(START + timedelta(minutes=minute), [lag(minute, f"g{n}") for n in range(50)])
    damage(path)

    with pytest.raises(HistoryReadError, match="cannot be read"):
        all_of(history, step=timedelta(seconds=10))
    history.add(START + DAY, [lag(7)])

    assert [series.points[-1].last for series in all_of(history)] == [7]


def test_a_full_disk_costs_rounds_and_nothing_else(history: History, path: Path) -> None:
    history.add(START, [lag(1)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # as good as a full disk: nothing can be written
        with pytest.raises(HistoryWriteError, match="cannot be written"):
            history.add(START + timedelta(seconds=10), [lag(2), lag(2, "new")])
    history.add(START + timedelta(seconds=20), [lag(3), lag(3, "new")])

    (_, new) = all_of(history, step=timedelta(seconds=10))
    assert [(point.at, point.value) for point in new.points] == [(START + timedelta(seconds=20), 3)]


def test_fine_values_are_kept_for_hours_minutes_for_a_day_and_ten_minutes_for_a_week(
    history: History, path: Path
) -> None:
    at, step = START, timedelta(minutes=1)
    # Three days minute by minute would take long: a quarter of an hour of every third hour.
    while at < START + timedelta(days=9):
        for _ in range(15):
            history.add(at, [lag(at.minute)])
            at += step
        at += timedelta(hours=2, minutes=45)

    with closing(sqlite3.connect(path)) as connection:
        oldest = {
            table: at.timestamp() - connection.execute(f"SELECT min(at) FROM {table}").fetchone()[0]  # noqa: S608
            for table in ("raw", "minute", "ten")
        }
    hours = {table: round(seconds / 3600) for table, seconds in oldest.items()}
    assert (hours["raw"], hours["minute"]) == (6, 27)
    assert 7 * 24 <= hours["ten"] <= 7 * 24 + 15
    # Whoever asks for more detail than is kept gets what there is.
    (fine,) = history.series(
        GROUP_MAX_LAG.name, since=at - 6 * DAY, until=at - 5 * DAY, step=timedelta(minutes=1)
    )
    # The last value of each quarter holds for the ten seconds up to the next one, which never came.
    assert {point.seconds for point in fine.points} == {60, 10}


def test_a_file_that_grows_too_large_forgets_its_oldest_details(path: Path) -> None:
    with History.open(path, max_bytes=500 * KIB) as history:
        for number in range(480):
            at = START + timedelta(seconds=50 * number)
            history.add(at, [lag(number * 0.1, f"group {n}") for n in range(30)])
        (first, *_) = all_of(history, step=timedelta(minutes=1))

    assert 400 * KIB < path.stat().st_size < 600 * KIB
    assert first.points[0].at == START


def test_series_beyond_the_limit_are_not_kept_and_said_so_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with History.open(path, max_series=3) as history:
        history.add(START, [lag(n, f"g{n}") for n in range(5)])
        history.add(START + timedelta(seconds=10), [lag(n, f"g{n}") for n in range(5)])

        assert [series.label["group"] for series in all_of(history)] == ["g0", "g1", "g2"]
    assert [record.message for record in caplog.records] == [
        "the history keeps no further series of metrics"
    ]


def test_series_of_which_nothing_is_kept_are_forgotten(history: History) -> None:
    history.add(START, [lag(1, "old")])
    for day in range(1, 18):
        for minute in range(0, 45, 1):
            history.add(START + timedelta(days=day / 2, minutes=minute), [lag(day, "new")])

    assert history.labels(GROUP_MAX_LAG.name) == [(("group", "new"),)]


def test_many_read_while_one_writes(history: History) -> None:
    history.add(START, [lag(0)])

    def reading(_: int) -> list[float]:
        return [series.points[-1].last for series in all_of(history)]

    with ThreadPoolExecutor(4) as threads:
        read = threads.map(reading, range(100))
        for number in range(1, 200):
            history.add(START + timedelta(seconds=10 * number), [lag(number)])
    seen = [values[0] for values in read]

    assert len(seen) == 100
    assert [series.points[-1].last for series in all_of(history)] == [199]


def damage(path: Path) -> None:
    """Overwrite what the file holds behind its first page, and what waits to be put there."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


def add_until_it_fails(history: History) -> None:
    """Add rounds: some pages are remembered, so that the first may succeed."""
    for minute in range(31, 200):
        history.add(START + timedelta(minutes=minute), [lag(minute, f"g{n}") for n in range(50)])
