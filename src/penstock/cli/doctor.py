"""`penstock doctor`: what this machine and the cluster are like, line by line."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, json_option
from penstock.cli.rendering import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.local import Check, Level


@click.command()
@cluster_options
@json_option
@click.pass_context
def doctor(
    context: click.Context, *, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Check Python, Java, jars, memory, disks, ports, the clock and the cluster.

    Looks and changes nothing. Exit status 1 when there is a problem; warnings do not count.

    \b
    Examples:
      penstock doctor
      penstock doctor --profile production
      penstock doctor --json | jq '.checks[] | select(.level != "ok")'
    """
    from penstock.local import Level, examine
    from penstock.settings import load_settings

    checks = examine(load_settings({"bootstrap": bootstrap, "profile": profile}))
    seen = list(checks) if as_json else _print_each(checks)
    problems = sum(check.level is Level.PROBLEM for check in seen)
    payload = {"ok": problems == 0, "checks": [asdict(check) for check in seen]}
    show(payload, lambda: _print_summary(seen), as_json=as_json)
    context.exit(1 if problems else 0)


def _print_each(checks: Iterable[Check]) -> list[Check]:
    """Print each check when it is known: the cluster may take its time to answer."""
    seen = []
    for check in checks:
        _say(f"{_mark(check.level)} {check.name:<10}  {check.found}")
        if check.hint:
            _say(f"{'':<8} {'':<10}  {click.style('hint', fg='cyan')}: {check.hint}")
        seen.append(check)
    return seen


def _print_summary(checks: list[Check]) -> None:
    from penstock.local import Level

    counts = {level: sum(check.level is level for check in checks) for level in Level}
    named = {Level.WARNING: "warning", Level.PROBLEM: "problem"}
    parts = [f"{counts[Level.OK]} ok"]
    parts += [
        f"{counts[level]} {word}{'s' if counts[level] > 1 else ''}"
        for level, word in named.items()
        if counts[level]
    ]
    _say("")
    _say(", ".join(parts))


def _mark(level: Level) -> str:
    from penstock.local import Level

    color = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}[level]
    return click.style(f"{level:<8}", fg=color, bold=level is Level.PROBLEM)


def _say(line: str) -> None:
    # Click leaves colors out by itself when stdout is not a terminal.
    click.echo(line, color=False if os.environ.get("NO_COLOR") else None)
