"""The life of pipelines: start, stop, pause, resume, kill, restart, rescale, log levels.

How they do is shown by the commands in `fleet.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import SPAN, cluster_options, connection_of, json_option
from penstock.cli.projects import (
    declared_pipeline,
    pipeline_name,
    project_argument,
    project_folder,
    project_settings,
)
from penstock.cli.rendering import progress, show
from penstock.cli.trail import Deed, on_the_trail
from penstock.names import FlowName, PipelineName

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from penstock.control.commands import Command
    from penstock.control.detached import Detached
    from penstock.control.kept import Launch
    from penstock.control.operating import Operator
    from penstock.events import Emit
    from penstock.kafka import Connection
    from penstock.settings import Settings

_ENTRY = "from penstock.cli.main import main; main()"
_INTERRUPTED = 130

pipeline_argument = click.argument("pipeline", metavar="PIPELINE")
flow_option = click.option("--flow", metavar="NAME", help="Only this flow. Default: all.")


@click.command()
@project_argument
@cluster_options
@json_option
def start(
    *, project: Path | None, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Run the pipeline of PROJECT, a folder, in the background.

    Returns when its first flow has started, or says why it cannot. The pipeline goes on when the
    terminal is closed, and its driver is started again when it dies: with growing pauses, and not
    more often than `pipeline.driver_restart_limit` within `pipeline.driver_restart_window_seconds`.

    \b
    Examples:
      penstock start
      penstock start shop --profile production
    """
    from penstock.cli.lifecycle_views import overview_payload, print_started
    from penstock.kafka import ensure_reachable

    settings = project_settings(project, profile, bootstrap=bootstrap)
    connection = connection_of(settings)
    name = pipeline_name(project, settings)
    declared_pipeline(project, settings)
    ensure_reachable(connection)
    arguments = [str(project_folder(project, settings)), "--json"]
    arguments += ["--profile", profile] if profile else []
    arguments += ["--bootstrap", bootstrap] if bootstrap else []
    deed = Deed("start_pipeline", f"pipeline {name}")
    try:
        with on_the_trail(settings, deed) as did, progress() as emit:
            launch = _launch(settings, connection, arguments)
            detached_of(settings).start(name, launch, emit=emit)
            did(deed, f"Pipeline `{name}` was started.")
    except KeyboardInterrupt:
        _say_it_goes_on(name)
        raise SystemExit(_INTERRUPTED) from None
    with operator_of(settings, connection) as operator:
        found = operator.show(name)
    show(overview_payload(found), lambda: print_started(found), as_json=as_json)


def _launch(settings: Settings, connection: Connection, arguments: list[str]) -> Launch:
    from penstock.control.kept import Launch
    from penstock.settings import environment_variable

    # Whoever looks after a detached pipeline asks it by HTTP: any free port will do.
    health = {environment_variable("pipeline.health_port"): "0"}
    return Launch(
        command=(sys.executable, "-c", _ENTRY, "run", *arguments),
        folder=Path.cwd(),
        cluster=connection.bootstrap,
        restart_limit=settings.pipeline.driver_restart_limit,
        restart_window_seconds=settings.pipeline.driver_restart_window_seconds,
        environment={} if settings.pipeline.health_port is not None else health,
    )


def _say_it_goes_on(name: PipelineName) -> None:
    click.echo(
        f"\n`{name}` goes on starting: `penstock show {name}` tells how far it is, "
        f"`penstock stop {name}` ends it",
        err=True,
    )


@click.command()
@pipeline_argument
@flow_option
@cluster_options
@json_option
def stop(
    *, pipeline: str, flow: str | None, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Stop PIPELINE, or one flow of it, after the batch that runs.

    A pipeline is stopped when this returns; Ctrl-C stops waiting, and not the pipeline's end.
    `penstock start` goes on where it was; a single flow goes on with `penstock resume`.

    \b
    Examples:
      penstock stop shop
      penstock stop shop --flow clean
    """
    from penstock.control.commands import Stop

    _carry_out(pipeline, Stop(flow=_flow(flow)), bootstrap, profile, as_json=as_json)


@click.command()
@pipeline_argument
@flow_option
@cluster_options
@json_option
def pause(
    *, pipeline: str, flow: str | None, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Let PIPELINE, or one flow of it, rest after the batch that runs.

    Place and state are kept, and the driver stays; on a cluster its executors are given back.

    \b
    Examples:
      penstock pause shop
      penstock pause shop --flow clean
    """
    from penstock.control.commands import Pause

    _carry_out(pipeline, Pause(flow=_flow(flow)), bootstrap, profile, as_json=as_json)


@click.command()
@pipeline_argument
@flow_option
@cluster_options
@json_option
def resume(
    *, pipeline: str, flow: str | None, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Let PIPELINE, or one flow of it, go on after a pause.

    A flow that was stopped by itself goes on too.

    \b
    Examples:
      penstock resume shop
      penstock resume shop --flow clean
    """
    from penstock.control.commands import Resume

    _carry_out(pipeline, Resume(flow=_flow(flow)), bootstrap, profile, as_json=as_json)


@click.command()
@pipeline_argument
@flow_option
@click.option(
    "--wait",
    type=SPAN,
    default="0s",
    metavar="SPAN",
    help="How long running batches may take to finish: 30, 30s, 2m. Default: not at all.",
)
@cluster_options
@json_option
def kill(
    *,
    pipeline: str,
    flow: str | None,
    wait: timedelta,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Stop PIPELINE, or one flow of it, in the middle of its batches.

    Nothing is lost: a batch that was not finished is run again by the next start. With --wait
    batches may finish for so long. A driver on this machine that hears nothing is killed.

    \b
    Examples:
      penstock kill shop
      penstock kill shop --wait 30
    """
    from penstock.control.commands import Kill

    command = Kill(flow=_flow(flow), wait_seconds=wait.total_seconds())
    _carry_out(pipeline, command, bootstrap, profile, as_json=as_json)


@click.command()
@pipeline_argument
@flow_option
@cluster_options
@json_option
def restart(
    *, pipeline: str, flow: str | None, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Start PIPELINE, or one flow of it, again after the batch that runs.

    The whole pipeline comes back with the code and the settings of its project as they are then,
    and this returns when it runs. One that runs in the foreground has nobody to start it again.

    \b
    Examples:
      penstock restart shop
      penstock restart shop --flow clean
    """
    from penstock.control.commands import Restart

    _carry_out(pipeline, Restart(flow=_flow(flow)), bootstrap, profile, as_json=as_json)


@click.command()
@pipeline_argument
@flow_option
@click.option("--cores", type=int, metavar="N", help="Cores of the whole pipeline; it restarts.")
@click.option(
    "--min-partitions", type=int, metavar="N", help="Tasks that read each topic of the flow."
)
@click.option(
    "--shuffle-partitions", type=int, metavar="N", help="Refused: says what that would need."
)
@cluster_options
@json_option
def rescale(
    *,
    pipeline: str,
    flow: str | None,
    cores: int | None,
    min_partitions: int | None,
    shuffle_partitions: int | None,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Give PIPELINE more or fewer cores, or read the topics of a flow with more tasks.

    How many partitions shuffles and state have is frozen in the checkpoint: to change that a flow
    would have to read its topics again from their beginning.

    \b
    Examples:
      penstock rescale shop --cores 4
      penstock rescale shop --flow clean --min-partitions 12
    """
    command = _rescaling(flow, cores, min_partitions, shuffle_partitions)
    _carry_out(pipeline, command, bootstrap, profile, as_json=as_json)


def _rescaling(
    flow: str | None, cores: int | None, min_partitions: int | None, shuffle: int | None
) -> Command:
    from penstock.control.commands import RescaleCores, RescaleReading, RescaleShuffle

    given = [item for item in (cores, min_partitions, shuffle) if item is not None]
    if len(given) != 1:
        message = "choose exactly one of --cores, --min-partitions and --shuffle-partitions"
        raise click.UsageError(message)
    if cores is not None:
        if flow is not None:
            message = "--cores are shared by all flows: leave --flow out"
            raise click.UsageError(message)
        return RescaleCores(cores=cores)
    if flow is None:
        message = "name the flow: --flow NAME"
        raise click.UsageError(message)
    if min_partitions is not None:
        return RescaleReading(flow=FlowName(flow), min_partitions=min_partitions)
    return RescaleShuffle(flow=FlowName(flow), shuffle_partitions=given[0])


@click.command(name="log-level")
@pipeline_argument
@click.argument("logger", metavar="LOGGER")
@click.argument("level", metavar="LEVEL")
@click.option(
    "--for",
    "duration",
    type=SPAN,
    default="10m",
    metavar="SPAN",
    help="When it goes back by itself: 30s, 10m, 2h. Default: 10m.",
)
@cluster_options
@json_option
def log_level(
    *,
    pipeline: str,
    logger: str,
    level: str,
    duration: timedelta,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Let a LOGGER of PIPELINE's Java write more or less for a while.

    LOGGER is a Java package or class with all below it, or `root`; LEVEL is off, fatal, error,
    warn, info, debug, trace or all. What it writes is in the file that `penstock show` names.

    \b
    Examples:
      penstock log-level shop org.apache.kafka debug --for 10m
      penstock log-level shop root error --for 1h
    """
    from penstock.control.commands import SetLogLevel, parse_level

    command = SetLogLevel(
        logger=logger, level=parse_level(level), for_seconds=duration.total_seconds()
    )
    _carry_out(pipeline, command, bootstrap, profile, as_json=as_json)


def _carry_out(
    pipeline: str, command: Command, bootstrap: str | None, profile: str | None, *, as_json: bool
) -> None:
    """Have `command` carried out and say what was done."""
    from penstock.cli.lifecycle_views import command_payload
    from penstock.control.commands import ensure_sensible

    ensure_sensible(command)
    settings = project_settings(None, profile, bootstrap=bootstrap)
    name = PipelineName(pipeline)
    deed = _deed(name, command)
    with on_the_trail(settings, deed) as did, progress() as emit:

        def begun(said: str) -> None:
            did(deed, f"{said[:1].upper()}{said[1:]}.")

        said = _commanded(settings, name, command, emit, begun)
    show(
        command_payload(name, command, said),
        lambda: click.echo(f"`{name}`: {said}"),
        as_json=as_json,
    )


def _deed(name: PipelineName, command: Command) -> Deed:
    from penstock.control.commands import RescaleCores, RescaleReading, RescaleShuffle, SetLogLevel

    match command:
        case SetLogLevel():
            return Deed("set_log_level", f"pipeline {name}")
        case RescaleCores():
            return Deed("rescale_pipeline", f"pipeline {name}")
        case RescaleReading(flow=flow) | RescaleShuffle(flow=flow):
            return Deed("rescale_flow", f"flow {name}/{flow}")
        case _ if command.flow is None:
            return Deed(f"{command.verb}_pipeline", f"pipeline {name}")
        case _:
            return Deed(f"{command.verb}_flow", f"flow {name}/{command.flow}")


def _commanded(
    settings: Settings,
    name: PipelineName,
    command: Command,
    emit: Emit,
    begun: Callable[[str], None],
) -> str:
    """Ask the driver; while Kafka is away, a keeper on this machine can still end its pipeline."""
    from penstock.control.operating import end_here, ends_all
    from penstock.kafka import ClusterUnreachableError
    from penstock.local import PlatformNotRunningError

    try:
        with operator_of(settings, connection_of(settings)) as operator:
            return operator.command(name, command, emit=emit, begun=begun)
    except (ClusterUnreachableError, PlatformNotRunningError):
        found = detached_of(settings).find(name)
        if found is None or not found.is_kept or not ends_all(command):
            raise
        said = end_here(detached_of(settings), name, command, emit)
        begun(said)
        return said


def operator_of(settings: Settings, connection: Connection) -> Operator:
    """Return what looks at the pipelines of a cluster and commands them."""
    from penstock.control.operating import Operator

    return Operator(connection, detached_of(settings))


def detached_of(settings: Settings) -> Detached:
    """Return the detached pipelines of this machine."""
    from penstock.control.detached import Detached

    return Detached(settings.platform.data_dir)


def _flow(name: str | None) -> FlowName | None:
    return FlowName(name) if name else None
