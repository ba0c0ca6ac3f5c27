"""The entry point: finds the command, and turns every fault into one sentence and an exit status.

Commands are imported when they are called, so that `penstock --help` and completion load neither
Kafka's client nor Spark.
"""

import importlib
import json
import logging
import os
import select
import sys
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.errors import Origin, PenstockError, UsageError
from penstock.names import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

logger = logging.getLogger(__name__)

# Name, module below `penstock.cli`, attribute, and the line that `penstock --help` shows.
COMMANDS = {
    "init": ("init", "init", "Write a small project that runs at once."),
    "up": ("platform", "up", "Start a real Kafka on this machine, and Spark if you like."),
    "run": ("run", "run", "Run the pipeline of a project, and see how it does."),
    "start": ("lifecycle", "start", "Run the pipeline of a project in the background."),
    "list": ("fleet", "list_command", "List the pipelines of the cluster and how they do."),
    "show": ("fleet", "show_command", "Show how a pipeline does: driver, flows, last errors."),
    "alerts": ("alerts", "alerts", "Alerts: what fires, silences, and whether they arrive."),
    "audit": ("audit", "audit", "Prove what became of the records that a pipeline has read."),
    "logs": ("fleet", "logs", "Print what a pipeline in the background has told."),
    "stop": ("lifecycle", "stop", "Stop a pipeline, or a flow, after its batch."),
    "pause": ("lifecycle", "pause", "Let a pipeline, or a flow, rest where it is."),
    "resume": ("lifecycle", "resume", "Let a pipeline, or a flow, go on after a pause."),
    "restart": ("lifecycle", "restart", "Start a pipeline, or a flow, again after its batch."),
    "kill": ("lifecycle", "kill", "Stop a pipeline, or a flow, in the middle of a batch."),
    "rescale": ("lifecycle", "rescale", "Give a pipeline other cores, or a flow more tasks."),
    "log-level": ("lifecycle", "log_level", "Let Java's loggers write more for a while."),
    "validate": ("validate", "validate", "Check a project: declarations, then each flow."),
    "graph": ("graph", "graph", "Draw the pipeline of a project, as text or SVG."),
    "package": ("package", "package", "Put a project and all it needs into one archive."),
    "submit": ("package", "submit", "Run a packaged project on a Spark cluster."),
    "kubernetes": ("kubernetes", "kubernetes", "Write manifests and a Helm chart for Kubernetes."),
    "demo": ("demo", "demo", "Detect fraud in web logs, and check the result."),
    "down": ("platform", "down", "Stop the Kafka on this machine; its data stays."),
    "platform": ("platform", "platform", "The local platform: status, logs, brokers."),
    "topics": ("topics", "topics", "List, describe, create, alter, purge and delete topics."),
    "produce": ("produce", "produce", "Send records to a topic from lines, JSON lines or a file."),
    "consume": ("consume", "consume", "Read records from topics."),
    "schemas": ("schemas", "schemas", "Schemas: list, register, check, push, compatibility."),
    "groups": ("groups", "groups", "Consumer groups: members, lag, reset, export, import."),
    "console": ("console", "console", "Serve the web console of a cluster."),
    "registry": ("registry", "registry", "Serve schemas, as Confluent's registry does."),
    "cluster": ("cluster", "cluster", "Brokers, quorum, features, disk usage, dynamic configs."),
    "config": ("config", "config", "Show the settings and where each value came from."),
    "doctor": ("doctor", "doctor", "Check this machine: Java, jars, memory, ports, cluster."),
    "completion": ("completion", "completion", "Print the completion script of your shell."),
}

_INTERRUPTED = 130  # what shells report for a command that Ctrl-C ended


class WrongUsageError(UsageError):
    """The command line is not one that the command accepts."""

    code = "PEN-930"

    def __init__(self, err: click.ClickException) -> None:
        ctx = err.ctx if isinstance(err, click.UsageError) else None
        close = getattr(err, "possibilities", None)
        path = ctx.command_path if ctx else "penstock"
        text = (err.message or err.format_message()) if close else err.format_message()
        super().__init__(
            " ".join((text[:1].lower() + text[1:]).removesuffix(".").split()),
            hint=f"did you mean `{close[0]}`?"
            if close
            else f"`{path} --help` shows how it is used",
        )


class UnknownCommandError(UsageError):
    """There is no command of that name."""

    code = "PEN-931"

    def __init__(self, command: str, *, path: str, known: list[str]) -> None:
        close = nearest(command, known)
        super().__init__(
            f"`{path}` has no command `{command}`",
            hint=f"did you mean `{path} {close}`?" if close else f"`{path} --help` lists them",
        )


class BugError(PenstockError):
    """Something that Penstock did not foresee."""

    code = "PEN-900"

    def __init__(self, err: Exception, *, report: Path | None) -> None:
        fault = traceback.format_exception_only(err)[-1].strip()
        where = f"`{report}` holds" if report else "`penstock --verbose` shows"
        super().__init__(
            f"this is a bug in Penstock: {fault}", hint=f"please report it; {where} the traceback"
        )


class _ReaderGoneError(Exception):
    """Whoever read our output has gone, as `| head` does: that is its right."""


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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Complete commands from the table above, without importing any."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=line)
            for name, (_, _, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; click would write lines of its own about these two ends."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            raise click.Abort from err
        except BrokenPipeError as err:
            if _reader_is_gone():
                raise _ReaderGoneError from err
            raise


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock", message="penstock %(version)s")
@click.option("--verbose", is_flag=True, help="Write the log of what happens to stderr.")
def cli(*, verbose: bool) -> None:
    """Build, run and operate streaming pipelines on Kafka and Spark.

    \b
    First steps:
      penstock init shop; cd shop                   a small project
      penstock up                                   a real Kafka, no Docker
      penstock run                                  Ctrl-C stops it
      penstock consume warnings --from beginning --limit 5
      penstock down

    Every command that prints data takes --json. Exit status: 0 ok, 1 failed, 2 wrong usage.
    `penstock completion bash` (or zsh, fish) prints a completion script.
    """
    if verbose:
        logging.getLogger().setLevel(logging.INFO)


def main() -> None:
    """Run the command line; the only place where exceptions become text."""
    logging.basicConfig(
        level=logging.CRITICAL + 1,  # what is fatal for Kafka's client is told as an error
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )
    try:
        status = cli.main(standalone_mode=False, prog_name="penstock")
    except PenstockError as err:
        status = _show(err)
    except (click.Abort, KeyboardInterrupt) as err:
        status = _stopped(err)
    except click.exceptions.NoArgsIsHelpError as err:
        err.show()
        status = err.exit_code
    except click.ClickException as err:
        status = _show(_as_ours(err))
    except _ReaderGoneError:
        # Python flushes stdout once more at exit and would complain about the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except Exception as err:
        logger.exception("unexpected fault")
        status = _show(BugError(err, report=_write_report()))
    sys.exit(status if isinstance(status, int) else 0)


def _stopped(err: BaseException) -> int:
    """Say in one line that the user ended the command, by Ctrl-C or by answering no."""
    interrupted = isinstance(err, KeyboardInterrupt) or isinstance(err.__cause__, KeyboardInterrupt)
    # The terminal has written `^C` at the start of the line.
    line_break = "\n" if interrupted and sys.stderr.isatty() else ""
    click.echo(f"{line_break}stopped" if interrupted else "nothing was done", err=True)
    return _INTERRUPTED if interrupted else 1


def _as_ours(err: click.ClickException) -> PenstockError:
    if isinstance(err, click.exceptions.NoSuchCommand) and err.ctx is not None:
        group = err.ctx.command
        known = group.list_commands(err.ctx) if isinstance(group, click.Group) else []
        return UnknownCommandError(err.command_name, path=err.ctx.command_path, known=known)
    return WrongUsageError(err)


def _show(err: PenstockError) -> int:
    """Write `err` to stderr, and as JSON to stdout when that was asked for; return its status."""
    if "--json" in sys.argv:
        click.echo(json.dumps({"error": err.as_dict()}))
    # An error of a project carries all problems that were found; settings have other ones.
    for problem in getattr(err, "problems", ()):
        if isinstance(problem, PenstockError):
            _print_error(problem)
            click.echo(err=True)
    _print_error(err)
    return err.exit_status


def _print_error(err: PenstockError) -> None:
    click.echo(f"{click.style(f'error[{err.code}]', fg='red', bold=True)}: {err.message}", err=True)
    if err.origin is not None:
        click.echo(f"  at {_from_here(err.origin)}", err=True)
    click.echo(f"\n{click.style('hint', fg='cyan')}: {err.hint}", err=True)


def _from_here(origin: Origin) -> Origin:
    """Return `origin` with the shorter path that a user would type, if it is below this folder."""
    with suppress(OSError, ValueError):  # this folder is gone, or the file is elsewhere
        return replace(origin, file=origin.file.relative_to(Path.cwd()))
    return origin


def _write_report() -> Path | None:
    """Write the traceback of the current exception to the cache folder, if that can be done."""
    from penstock.settings import default_cache_dir

    folder = default_cache_dir() / "crashes"
    path = folder / f"{os.getpid()}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError:
        return None
    return path


def _reader_is_gone() -> bool:
    """Tell a closed stdout from any other broken pipe, which would be a fault."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # errors are reported without being asked for
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
