"""`penstock registry`: serve schemas to Kafka's clients, and say who may ask for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, connection_of, entered_password

if TYPE_CHECKING:
    from penstock.registry.server import Serving
    from penstock.settings import RegistrySettings

DEFAULT_PORT = 8081


@click.group()
def registry() -> None:
    """The schema registry: serve it, and name its users."""


@registry.command()
@cluster_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to serve on; 0 takes a free one. Default: `registry.port`, else 8081.",
)
@click.option("--topic", metavar="NAME", help="Topic with the schemas. Default: `_schemas`.")
def serve(
    *, bootstrap: str | None, profile: str | None, port: int | None, topic: str | None
) -> None:
    """Serve the schemas of a cluster over Confluent's REST API, until Ctrl-C or SIGTERM.

    `penstock up` runs one for the local platform. Start several on one cluster and each answers
    reads; one leads and does the writes, and another takes over when it dies. Schemas are kept in
    Kafka, in Confluent's format: an existing `_schemas` is served as it is.

    \b
    Examples:
      penstock registry serve                          at 127.0.0.1:8081
      penstock registry serve --profile production --port 8090
    """
    from penstock.registry.server import serve as serve_registry
    from penstock.settings import load_settings

    settings = load_settings(
        {
            "bootstrap": bootstrap,
            "profile": profile,
            "registry.port": port,
            "registry.topic": topic,
        }
    )
    brokers = connection_of(settings)

    def say_ready(url: str) -> None:
        click.echo(f"the registry is ready at {url}; topic `{settings.registry.topic}`")
        sys.stdout.flush()

    serve_registry(brokers, _serving(settings.registry), on_ready=say_ready)
    click.echo("the registry has stopped")


@registry.command()
@click.argument("name", metavar="NAME")
def user(*, name: str) -> None:
    """Print the line for user NAME in the file that `registry.users` names.

    The password is asked for; without a terminal it is the first line of stdin. What is printed
    lets a password be checked, not read.

    \b
    Examples:
      penstock registry user orders >> registry-users.txt
    """
    from penstock.registry.access import user_line

    if not name or ":" in name:
        reason = "a name is not empty and has no colon"
        raise click.BadParameter(reason, param_hint="NAME")
    click.echo(user_line(name, entered_password()))


def _serving(settings: RegistrySettings) -> Serving:
    from penstock.registry.server import Serving

    return Serving(
        topic=settings.topic,
        host=settings.host,
        port=DEFAULT_PORT if settings.port is None else settings.port,
        advertised_url=settings.advertised_url,
        users=settings.users,
        certificate=settings.certificate,
        key=settings.key,
        ca=settings.ca,
    )
