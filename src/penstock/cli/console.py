"""`penstock console`: the web console of a cluster, in the foreground."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, connection_of, entered_password

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

ROLES = ("viewer", "operator", "admin")


@click.group(invoke_without_command=True)
@click.pass_context
@cluster_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to serve on; 0 takes a free one. Default: `console.port`, else 8090.",
)
def console(
    context: click.Context, *, bootstrap: str | None, profile: str | None, port: int | None
) -> None:
    """Serve the web console of a cluster, until Ctrl-C or SIGTERM.

    `penstock up` runs one for the local platform already. It answers on this machine alone, unless
    `console.host` says otherwise.

    \b
    Examples:
      penstock console --profile production            at http://127.0.0.1:8090
      penstock console --bootstrap kafka-1:9092 --port 0
      penstock console user alice --role admin >> console-users.txt
    """
    if context.invoked_subcommand is not None:
        return
    from penstock.console.server import DEFAULT_PORT, Serving, serve
    from penstock.console.world import Place
    from penstock.settings import load_settings

    settings = load_settings({"bootstrap": bootstrap, "profile": profile, "console.port": port})
    chosen = DEFAULT_PORT if settings.console.port is None else settings.console.port

    def say_ready(url: str) -> None:
        click.echo(f"the console is ready at {url}")
        sys.stdout.flush()

    folder = settings.platform.data_dir.absolute() / "console" / settings.profile
    place = Place.of(settings, connection_of(settings), folder=folder)
    serve(place, Serving.of(settings, port=chosen), on_ready=say_ready)
    click.echo("the console has stopped")


def _role_option() -> Callable[[Decorated], Decorated]:
    return click.option(
        "--role",
        type=click.Choice(ROLES),
        required=True,
        help="viewer: sees; operator: also operates; admin: also changes topics and brokers.",
    )


@console.command()
@click.argument("name", metavar="NAME")
@_role_option()
def user(*, name: str, role: str) -> None:
    """Print the line for user NAME in the file that `console.users` names.

    The password is asked for; without a terminal it is the first line of stdin. What is printed
    lets a password be checked, not read.

    \b
    Examples:
      penstock console user alice --role operator >> console-users.txt
    """
    from penstock.console.access import Role, user_line

    _require_name(name)
    click.echo(user_line(name, Role.parse(role), entered_password()))


@console.command()
@click.argument("name", metavar="NAME")
@_role_option()
def token(*, name: str, role: str) -> None:
    """Make a token for program NAME; its line goes to stdout, the token itself to stderr.

    The token is shown this once. Programs send it as `Authorization: Bearer TOKEN`.

    \b
    Examples:
      penstock console token grafana --role viewer >> console-users.txt
    """
    from penstock.console.access import Role, token_line

    _require_name(name)
    made, line = token_line(name, Role.parse(role))
    click.echo(line)
    click.echo(f"the token of {name}: {made}", err=True)


def _require_name(name: str) -> None:
    if not name or ":" in name or not name.isprintable():
        reason = "a name is not empty and has no colon"
        raise click.BadParameter(reason, param_hint="NAME")
