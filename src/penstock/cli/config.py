"""`penstock config`: what is configured, and who said so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.rendering import show, table

if TYPE_CHECKING:
    from penstock.settings import Settings


@click.group()
def config() -> None:
    """Settings: from the command line, the environment, penstock.toml or a default."""


@config.command(name="show")
@click.option("--profile", metavar="NAME", help="Profile of penstock.toml to show.")
@click.option("--spark", "of_spark", is_flag=True, help="Show Spark's settings, and why they are.")
@json_option
def show_command(*, profile: str | None, of_spark: bool, as_json: bool) -> None:
    """Show every setting, its value, and where the value came from.

    The command line wins over the environment (PENSTOCK_BOOTSTRAP, PENSTOCK_PLATFORM_PORT, …),
    that over penstock.toml, and that over the default. Secrets are never shown.

    With --spark: what Spark sessions are opened with, who chose each value and for which reason,
    and which of them a checkpoint keeps as they were when it was made.

    \b
    Examples:
      penstock config show
      penstock config show --profile production --json
      penstock config show --spark
    """
    from penstock.settings import load_settings

    settings = load_settings({"profile": profile})
    if of_spark:
        _show_spark(settings, as_json=as_json)
    else:
        _show_settings(settings, as_json=as_json)


def _show_settings(settings: Settings, *, as_json: bool) -> None:
    from penstock.settings import FILE_NAME

    rows = [(item.key, item.value, item.source) for item in settings.resolved]

    def human() -> None:
        click.echo(f"file: {settings.file or f'no {FILE_NAME} in this folder or above'}", err=True)
        table(
            ("key", "value", "source"),
            [(key, _entries(value), source) for key, value, source in rows],
        )

    payload = {
        "file": settings.file,
        "profile": settings.profile,
        "settings": [{"key": key, "value": value, "source": source} for key, value, source in rows],
    }
    show(payload, human, as_json=as_json)


def _entries(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return tuple(f"{key}={item}" for key, item in value.items())


def _show_spark(settings: Settings, *, as_json: bool) -> None:
    from penstock.engine import session_conf, session_settings, session_shape
    from penstock.settings import shown_conf

    shape = session_shape(settings.spark)
    found = session_settings(shape)
    shown = shown_conf(session_conf(found))

    def human() -> None:
        click.echo(f"master: {shape.master}", err=True)
        table(
            ("key", "value", "source", "frozen", "reason"),
            [
                (item.key, shown[item.key], item.chosen_by, item.frozen, item.reason)
                for item in found
            ],
        )
        click.echo("frozen: a checkpoint keeps the value that it was made with", err=True)

    payload = {
        "master": shape.master,
        "settings": [
            {
                "key": item.key,
                "value": shown[item.key],
                "source": item.chosen_by,
                "replaced": item.replaced,
                "frozen": item.frozen,
                "reason": item.reason or None,
            }
            for item in found
        ],
    }
    show(payload, human, as_json=as_json)
