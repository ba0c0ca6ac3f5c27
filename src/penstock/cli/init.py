"""`penstock init`: a small project that runs at once. Its files are in `starter/`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.projects import name_after
from penstock.cli.rendering import show
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the wheel no file begins with a dot, and none ends as Python or TOML: tools would pick it up.
_FILES = {
    ".gitignore": "gitignore",
    "conftest.py": "conftest.py",
    "flows.py": "flows.py",
    "penstock.toml": "penstock.toml",
    "rooms.csv": "rooms.csv",
    "tests/test_flows.py": "tests/test_flows.py",
}


class FilesExistError(UsageError):
    """A new project would overwrite files."""

    code = "PEN-960"

    def __init__(self, paths: Sequence[Path]) -> None:
        listed = ", ".join(f"`{path}`" for path in paths)
        verb = "is" if len(paths) == 1 else "are"
        super().__init__(
            f"{listed} {verb} already there, and nothing is overwritten",
            hint="name another folder: `penstock init FOLDER`",
        )


class FolderNotWritableError(UsageError):
    """A new project cannot be written where it was wanted."""

    code = "PEN-962"

    def __init__(self, folder: Path, *, reason: str) -> None:
        super().__init__(
            f"no project can be written to `{folder}`: {reason}",
            hint="name another folder: `penstock init FOLDER`",
        )


@click.command()
@click.argument(
    "folder", required=False, default=Path(), type=click.Path(path_type=Path), metavar="[FOLDER]"
)
@json_option
def init(*, folder: Path, as_json: bool) -> None:
    """Write a small project that runs at once, with a test; overwrite nothing.

    Two flows: one makes up readings of thermometers, the other warns of warm rooms.

    \b
      penstock init thermometers
      cd thermometers
      penstock up
      penstock run
    """
    paths = {folder / name: _content(source, folder) for name, source in _FILES.items()}
    existing = [path for path in paths if path.exists() or path.is_symlink()]
    if existing:
        raise FilesExistError(existing)
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise FolderNotWritableError(folder, reason=err.strerror or str(err)) from err
    payload = {"folder": folder.absolute(), "files": list(_FILES)}
    show(payload, lambda: _print(folder, list(paths)), as_json=as_json)


def _content(source: str, folder: Path) -> str:
    text = (files("penstock.cli") / "starter" / f"{source}.template").read_text(encoding="utf-8")
    return Template(text).safe_substitute(name=name_after(folder))


def _print(folder: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        click.echo(f"wrote {path}", err=True)
    go_there = [] if folder.absolute() == Path.cwd() else [f"cd {folder}"]
    click.echo("\nnext:", err=True)
    for command in [*go_there, "penstock up", "penstock run"]:
        click.echo(f"  {command}", err=True)
