"""`penstock config`: what is configured, and who said so."""

import click

from penstock.cli.options import json_option
from penstock.cli.rendering import show, table


@click.group()
def config() -> None:
    """Settings: from the command line, the environment, penstock.toml or a default."""


@config.command(name="show")
@click.option("--profile", metavar="NAME", help="Profile of penstock.toml to show.")
@json_option
def show_command(*, profile: str | None, as_json: bool) -> None:
    """Show every setting, its value, and where the value came from.

    The command line wins over the environment (PENSTOCK_BOOTSTRAP, PENSTOCK_PLATFORM_PORT, …),
    that over penstock.toml, and that over the default. Secrets are never shown.

    \b
    Examples:
      penstock config show
      penstock config show --profile production --json
    """
    from penstock.settings import FILE_NAME, load_settings

    settings = load_settings({"profile": profile})
    rows = [(item.key, item.value, item.source) for item in settings.resolved]

    def human() -> None:
        click.echo(f"file: {settings.file or f'no {FILE_NAME} in this folder or above'}", err=True)
        table(("key", "value", "source"), rows)

    payload = {
        "file": settings.file,
        "profile": settings.profile,
        "settings": [{"key": key, "value": value, "source": source} for key, value, source in rows],
    }
    show(payload, human, as_json=as_json)
