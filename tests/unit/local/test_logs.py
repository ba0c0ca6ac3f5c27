from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.local.logs import follow_log, tail_log

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_last_lines_are_returned(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert tail_log(log, 3) == []

    log.write_text("1\n2\n3\n4\n")

    assert tail_log(log, 3) == ["2", "3", "4"]
    assert tail_log(log, 0) == []


def test_following_crosses_a_rotation_and_joins_half_written_lines(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("old\n")
    steps: list[Callable[[], None]] = [
        lambda: append(log, "one\ntw"),
        lambda: append(log, "o\n"),
        lambda: rotate(log),
    ]

    lines = follow_log(log, pause=lambda: steps.pop(0)())

    with closing(lines):
        assert [next(lines) for _ in range(3)] == ["one", "two", "three"]


def test_following_may_begin_with_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("1\n2\n3\n")

    lines = follow_log(log, count=2, pause=lambda: rotate(log))

    with closing(lines):
        assert [next(lines) for _ in range(3)] == ["2", "3", "three"]


def append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def rotate(log: Path) -> None:
    log.rename(log.with_suffix(".1"))
    log.write_text("three\n")
