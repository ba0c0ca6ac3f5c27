"""The entry point: finds the command, and turns every fault into one sentence and an exit status.

Commands are imported when they are called, so that `penstock --help` and completion load neither
Kafka's client nor Spark.
"""

import importlib
import json
import logging
import os
import sys

import click

from penstock.errors import PenstockError

# Name, module below `penstock.cli`, attribute, and the line that `penstock --help` shows.
COMMANDS = {
    "up": ("platform", "up", "Start a real Kafka on this machine."),
    "down": ("platform", "down", "Stop the Kafka on this machine; its data stays."),
    "platform": ("platform", "platform", "The local platform: status, logs, brokers."),
    "topics": ("topics", "topics", "List, describe, create, alter, purge and delete topics."),
    "produce": ("produce", "produce", "Send records to a topic from lines, JSON lines or a file."),
    "consume": ("consume", "consume", "Read records from topics."),
    "groups": ("groups", "groups", "Consumer groups: members, lag, reset, export, import."),
    "cluster": ("cluster", "cluster", "Brokers, quorum, features, disk usage, dynamic configs."),
    "config": ("config", "config", "Show the settings and where each value came from."),
    "doctor": ("doctor", "doctor", "Check this machine: Java, jars, memory, ports, cluster."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(f"penstock.cli.{module}"), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - a slip in the table above
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands from the table above, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock", message="penstock %(version)s")
@click.option("--verbose", is_flag=True, help="Write the log of what happens to stderr.")
def cli(*, verbose: bool) -> None:
    """Build, run and operate streaming pipelines on Kafka and Spark.

    \b
    First steps:
      penstock up                                   a real Kafka, no Docker
      penstock topics create orders --partitions 3
      seq 1 1000 | penstock produce orders
      penstock consume orders --from beginning --limit 5
      penstock down

    Every command that prints data takes --json. Exit status: 0 ok, 1 failed, 2 wrong usage.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.CRITICAL,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )


def main() -> None:
    """Run the command line; the only place where exceptions become text."""
    try:
        status = cli.main(standalone_mode=False)
    except PenstockError as err:
        _show(err)
        status = err.exit_status
    except click.exceptions.Abort:
        click.echo("stopped; nothing further was done", err=True)
        status = 130
    except click.ClickException as err:
        err.show()
        status = err.exit_code
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): that is its right, not a fault.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


def _show(err: PenstockError) -> None:
    if "--json" in sys.argv:
        click.echo(json.dumps({"error": err.as_dict()}))
    click.echo(f"{click.style(f'error[{err.code}]', fg='red', bold=True)}: {err.message}", err=True)
    if err.origin is not None:
        click.echo(f"  at {err.origin}", err=True)
    click.echo(f"\n{click.style('hint', fg='cyan')}: {err.hint}", err=True)
