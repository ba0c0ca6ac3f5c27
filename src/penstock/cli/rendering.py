"""The one renderer: tables that are rich on a terminal and plain when piped, JSON, and progress.

Data goes to stdout, everything else to stderr.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import click

from penstock.errors import UsageError
from penstock.events import Emit, Event, StepFinished, StepProgressed, StepStarted


class ConfirmationNeededError(UsageError):
    """A destructive command was called without a terminal and without `--yes`."""

    code = "PEN-901"

    def __init__(self, act: str) -> None:
        super().__init__(
            f"this would {act}, and there is no terminal to ask",
            hint="add `--yes` when that is what you want",
        )


def show(payload: object, human: Callable[[], None], *, as_json: bool) -> None:
    """Print `payload` as one JSON document, or call `human`, which prints for people."""
    if as_json:
        click.echo(json.dumps(payload, default=_plain))
    else:
        human()


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "") -> None:
    """Print a table: drawn on a terminal, aligned plain text with a header when piped.

    Columns whose cells are numbers or missing are aligned to the right.
    """
    cells = [[_text(value) for value in row] for row in rows]
    numeric = [_is_numeric([row[index] for row in rows]) for index in range(len(columns))]
    if sys.stdout.isatty():
        _rich_table(columns, cells, numeric, title)
        return
    widths = [
        max([len(column), *(len(row[index]) for row in cells)])
        for index, column in enumerate(columns)
    ]
    for line in [[column.upper() for column in columns], *cells]:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def _is_numeric(values: Sequence[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, int | float) for value in present)


def _rich_table(
    columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], title: str
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left")
    for column, right in zip(columns, numeric, strict=True):
        drawn.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*(Text(cell) for cell in row))
    Console().print(drawn)


def confirm(act: str, *, yes: bool) -> None:
    """Ask before doing `act` (a verb phrase); `--yes` answers.

    Raises:
        ConfirmationNeededError: there is no terminal to ask on.
        click.Abort: the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfirmationNeededError(act)
    click.confirm(f"This will {act}. Go on?", abort=True, err=True)


@contextmanager
def progress() -> Iterator[Emit]:
    """Show events as they come: a live line on a terminal, one line per finished step otherwise."""
    if not sys.stderr.isatty():
        yield _plain_progress
        return
    from rich.console import Console
    from rich.status import Status

    console = Console(stderr=True)
    status = Status("", console=console)

    def emit(event: Event) -> None:
        match event:
            case StepStarted(step=step):
                status.update(f"{step} …")
                status.start()
            case StepProgressed(step=step, done=done, total=total):
                status.update(f"{step} … {done}" + (f" of {total}" if total else ""))
            case StepFinished(step=step, detail=detail):
                mark = "[green]✓[/green]"
                console.print(f"{mark} {step}" + (f"  [dim]{detail}[/dim]" if detail else ""))

    try:
        yield emit
    finally:
        status.stop()


def _plain_progress(event: Event) -> None:
    if isinstance(event, StepFinished):
        click.echo(f"{event.step}: {event.detail or 'done'}", err=True)


def human_bytes(count: int) -> str:
    """Return `count` bytes in the unit a person would choose: `1.5 MB`."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, list | tuple):
        return ",".join(_text(item) for item in value) or "-"
    return str(value)


def _plain(value: Any) -> object:  # noqa: ANN401 - json hands over anything it does not know
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path | Enum):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
