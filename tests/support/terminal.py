"""The lines for a terminal that pages of the console show: whether commands understand them."""

from __future__ import annotations

import html
import re
import shlex

import click

from penstock.cli.main import cli

_SAME = re.compile(r'<code [^>]*id="same">(.*?)</code>', re.DOTALL)


def line_on(page: str) -> str | None:
    """Return the line that a page says does the same in a terminal."""
    found = _SAME.search(page)
    return html.unescape(found.group(1)) if found else None


def understood(line: str) -> dict[str, object]:
    """Return the parameters of a line of ours, as its command reads them; nothing is done.

    Files that it names must exist.

    Raises:
        click.UsageError: there is no such command, or it takes no such option or argument.
    """
    words = shlex.split(line.rpartition("| ")[2])
    assert words[0] == "penstock", line
    command: click.Command = cli
    context = click.Context(command, info_name="penstock")
    words = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:
            message = f"no command in `{line}`"
            raise click.UsageError(message)
        command, words = found, words[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    return dict(command.make_context(command.name, words, parent=context.parent).params)
