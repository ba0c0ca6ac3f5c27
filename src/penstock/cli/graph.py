"""`penstock graph`: the pipeline as a drawing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.projects import load_project, project_argument
from penstock.cli.rendering import show
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.pipeline import Graph


class DrawingNotWrittenError(UsageError):
    """The file for the drawing cannot be written."""

    code = "PEN-961"

    def __init__(self, file: Path, *, reason: str) -> None:
        super().__init__(
            f"`{file}` cannot be written: {reason}",
            hint="name another file with `--svg`, in a folder that exists",
        )


@click.command()
@project_argument
@click.option(
    "--svg",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the drawing to a file instead.",
)
@click.option("--profile", metavar="NAME", help="Profile of penstock.toml to use.")
@json_option
def graph(*, project: Path | None, file: Path | None, profile: str | None, as_json: bool) -> None:
    """Draw what feeds what: topics, tables, views, lookups and flows.

    On the terminal as a tree that follows the data; with --svg as a drawing for pages, which
    suits light and dark ones.

    PROJECT is a folder; default: that of the nearest penstock.toml, else this one.

    \b
      penstock graph
      penstock graph shop --svg shop.svg
    """
    from penstock.pipeline import graph_of
    from penstock.pipeline.drawings import as_svg, as_text

    _, pipeline = load_project(project, profile)
    drawn = graph_of(pipeline)
    if file is not None:
        _write(file, as_svg(drawn, title=f"Pipeline {pipeline.name}"))

    def human() -> None:
        if file is None:
            click.echo(as_text(drawn))
        else:
            click.echo(f"{file}: {len(drawn.nodes)} nodes, {len(drawn.edges)} edges", err=True)

    show(_payload(pipeline.name, drawn), human, as_json=as_json)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as err:
        raise DrawingNotWrittenError(file, reason=err.strerror or str(err)) from err


def _payload(name: str, drawn: Graph) -> dict[str, object]:
    return {
        "pipeline": name,
        "nodes": [asdict(node) for node in drawn.nodes],
        "edges": [asdict(edge) for edge in drawn.edges],
    }
