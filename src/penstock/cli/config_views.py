"""How commands show configs of topics and brokers: value, source, old → new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import ConfigChange, ConfigEntry


def entry_payload(entry: ConfigEntry) -> dict[str, object]:
    """Return the fields of one config, secrets masked."""
    return {
        "name": entry.name,
        "value": entry.shown,
        "source": entry.source,
        "read_only": entry.read_only,
        "sensitive": entry.sensitive,
    }


def config_payload(entries: Sequence[ConfigEntry], *, defaults: bool) -> list[dict[str, object]]:
    """Return configs; without `defaults` only those that somebody has set."""
    return [entry_payload(entry) for entry in chosen(entries, defaults=defaults)]


def chosen(entries: Sequence[ConfigEntry], *, defaults: bool) -> list[ConfigEntry]:
    """Return all entries, or those that differ from Kafka's defaults."""
    from penstock.kafka import ConfigSource

    return [entry for entry in entries if defaults or entry.source is not ConfigSource.DEFAULT]


def print_configs(entries: Sequence[ConfigEntry], *, defaults: bool) -> None:
    """Print configs with their source."""
    rows = [[entry.name, entry.shown, entry.source] for entry in chosen(entries, defaults=defaults)]
    if rows:
        table(["config", "value", "source"], rows)
    else:
        click.echo("all configs are Kafka's defaults; --all-configs lists them")


def changes_payload(changes: Sequence[ConfigChange]) -> list[dict[str, object]]:
    """Return for each config what was and what is in force."""
    return [
        {
            "name": change.name,
            "old": None if change.old is None else entry_payload(change.old),
            "new": None if change.new is None else entry_payload(change.new),
        }
        for change in changes
    ]


def print_changes(owner: str, changes: Sequence[ConfigChange]) -> None:
    """Print a line per config: old → new."""
    for change in changes:
        click.echo(f"{owner}: {change.name} {in_force(change.old)} → {in_force(change.new)}")


def in_force(entry: ConfigEntry | None) -> str:
    """Return value and source, such as `1048588 (default)`."""
    if entry is None:
        return "not set"
    value = "-" if entry.shown is None else entry.shown or "''"
    return f"{value} ({entry.source})"
