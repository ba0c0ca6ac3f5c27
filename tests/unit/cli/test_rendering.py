"""Tables, JSON, questions and progress, on a terminal and piped."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from io import StringIO
from pathlib import Path

import click
import pytest

from penstock.cli.rendering import (
    ConfirmationNeededError,
    confirm,
    human_bytes,
    progress,
    show,
    table,
)
from penstock.events import StepFinished, StepProgressed, StepStarted


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Color(StrEnum):
    RED = "red"


def test_a_piped_table_is_aligned_text_with_numbers_to_the_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table(
        ("topic", "lag", "note"), [("orders", 7, None), ("clicks", 1200, "late"), ("x", None, "")]
    )
    assert capsys.readouterr().out == (
        "TOPIC    LAG  NOTE\n"
        "orders     7  -\n"
        "clicks  1200  late\n"
        "x          -\n"
    )  # fmt: skip


def test_a_table_without_rows_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    table(("topic", "lag"), [])
    assert capsys.readouterr().out == "TOPIC  LAG\n"


def test_cells_are_written_as_people_read_them(capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    table(("a", "b", "c", "d"), [(True, [1, 2], moment, Color.RED)])
    assert capsys.readouterr().out.splitlines()[1] == "yes  1,2  2026-05-01T12:00:00+00:00  red"


def test_a_table_on_a_terminal_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    table(("topic", "lag"), [("[bold]orders[/bold]", 7)])
    assert [line.rstrip() for line in screen.getvalue().splitlines()] == [
        "",
        "  topic                 lag",
        " ───────────────────────────",
        "  [bold]orders[/bold]     7",
        "",
    ]


def test_json_is_one_document_of_plain_values(capsys: pytest.CaptureFixture[str]) -> None:
    payload = {
        "at": datetime(2026, 5, 1, tzinfo=UTC),
        "path": Path("a/b"),
        "color": Color.RED,
        "bytes": b"\xffx",
        "set": {2, 1},
    }
    show(payload, lambda: None, as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "at": "2026-05-01T00:00:00+00:00",
        "path": "a/b",
        "color": "red",
        "bytes": "\N{REPLACEMENT CHARACTER}x",
        "set": [1, 2],
    }


def test_without_json_the_human_form_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show({}, lambda: click.echo("for people"), as_json=False)
    assert capsys.readouterr().out == "for people\n"


def test_off_a_terminal_a_question_needs_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    confirm("delete it", yes=True)
    with pytest.raises(ConfirmationNeededError) as caught:
        confirm("delete it", yes=False)
    assert caught.value.message == "this would delete it, and there is no terminal to ask"


def test_on_a_terminal_the_answer_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("y\nn\n"))
    confirm("delete it", yes=False)
    with pytest.raises(click.Abort):
        confirm("delete it", yes=False)
    said = capsys.readouterr()
    assert (said.out, said.err.count("This will delete it. Go on? [y/N]: ")) == ("", 2)


def test_piped_progress_is_a_line_per_finished_step(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as emit:
        emit(StepStarted(step="fetching jars"))
        emit(StepProgressed(step="fetching jars", done=1, total=2))
        emit(StepFinished(step="fetching jars", detail="2 jars"))
        emit(StepFinished(step="starting"))
    assert capsys.readouterr() == ("", "fetching jars: 2 jars\nstarting: done\n")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_500_000, "1.5 MB"),
        (10**9, "1.0 GB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_bytes_are_in_the_unit_a_person_would_choose(count: int, text: str) -> None:
    assert human_bytes(count) == text
