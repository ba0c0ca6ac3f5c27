"""`penstock run`: run a pipeline in the foreground and show how it does."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from penstock.cli.options import PLACE, cluster_options, connection_of, json_option
from penstock.cli.projects import (
    declared_pipeline,
    pipeline_name,
    project_argument,
    project_files,
    project_folder,
    project_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import FrameType

    from pyspark.sql import SparkSession

    from penstock.cli.live import Heading
    from penstock.cli.run_output import RunOutput, Steps
    from penstock.control import Claim, PipelineRun, RunOptions
    from penstock.engine import SparkDriver
    from penstock.engine.batch import BoundedResult
    from penstock.kafka import Connection, StartingPoint
    from penstock.settings import Settings

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.command()
@project_argument
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="NAME",
    help="Only this flow; may be repeated. Default: all.",
)
@click.option(
    "--once",
    is_flag=True,
    help="Read what is there now and end; flows wait for those that write what they read.",
)
@click.option(
    "--from",
    "start",
    type=PLACE,
    metavar="WHERE",
    help="Only this range, as a batch: beginning, offset:N, a time or a span ago.",
)
@click.option(
    "--to", "end", type=PLACE, metavar="WHERE", help="The end of the range; default: end."
)
@json_option
@cluster_options
def run(
    project: Path | None,
    flows: Sequence[str],
    start: StartingPoint | None,
    end: StartingPoint | None,
    bootstrap: str | None,
    profile: str | None,
    *,
    once: bool,
    as_json: bool,
) -> None:
    """Run the pipeline of PROJECT, a folder, until Ctrl-C.

    Topics are created or altered as declared, after every check has passed. A flow that fails is
    started again while the others go on. Ctrl-C lets running batches finish and stops, which is no
    failure; a second Ctrl-C stops at once. Nothing is lost either way: the next run goes on where
    this one was.

    On a terminal the flows are shown live, otherwise as lines. With --json every event is a line
    of JSON. Exit status: 0 stopped or finished, 1 a flow has failed for good, 2 wrong usage.

    One process at a time runs a pipeline, on whatever machine: a second one is refused, and takes
    over when the first has died.

    \b
    Examples:
      penstock run
      penstock run shop --flow clean --flow count
      penstock run --once --json
      penstock run --flow clean --from 2026-05-01T00:00:00Z --to 2026-05-02T00:00:00Z

    With --from or --to the flows run over that range of their topics as batch jobs, write to their
    targets, and end. Checkpoints play no part: the same range again is written again.
    """
    from penstock.cli.run_output import Steps
    from penstock.control.kept import START_AGAIN_STATUS
    from penstock.control.kept_cores import with_kept_cores
    from penstock.engine import SparkDriver, session_options

    settings = with_kept_cores(project_settings(project, profile, bootstrap=bootstrap))
    connection = connection_of(settings)
    name = pipeline_name(project, settings)
    spark_options = session_options(
        settings,
        app_name=name,
        log_file=settings.platform.data_dir / "logs" / f"{name}.log",
    )
    steps = Steps()

    def options(session: Callable[[], SparkSession]) -> RunOptions:
        from penstock.control import RunOptions

        pipeline = declared_pipeline(project, settings, session=session)
        return RunOptions(
            pipeline=pipeline,
            flows=pipeline.only(flows),
            settings=settings,
            connection=connection,
            once=once,
        )

    try:
        if start is not None or end is not None:
            # A bounded run touches no checkpoint, so the pipeline may run meanwhile.
            with SparkDriver.start(spark_options, emit=steps.emit) as driver:
                _run_range(options(driver.session), driver, steps, (start, end), as_json=as_json)
            return
        with (
            claim_of(project, settings, connection, steps) as claim,
            # Java starts while the lease is acquired, the project imported, topics compared.
            SparkDriver.start(spark_options, emit=steps.emit) as driver,
        ):
            chosen = options(lambda: _claimed_session(claim, driver))
            starts_again = _run(chosen, driver, claim, steps, as_json=as_json)
    finally:
        steps.close()
    if starts_again:
        click.get_current_context().exit(START_AGAIN_STATUS)


def claim_of(
    project: Path | None, settings: Settings, connection: Connection, steps: Steps
) -> Claim:
    """Return the claim to run a project's pipeline; nothing happens yet."""
    from penstock.control import Claim, Claimant, cleaner, code_version

    claimant = Claimant(
        pipeline=pipeline_name(project, settings),
        profile=settings.profile,
        code_version=code_version(
            project_folder(project, settings), project_files(project, settings)
        ),
    )
    return Claim(connection, claimant, clean=cleaner(settings), emit=steps.emit)


def _claimed_session(claim: Claim, driver: SparkDriver) -> SparkSession:
    """Return the session in which a declarative project is loaded.

    Whoever may not run the project is told before Spark has started.
    """
    claim.await_lease()
    return driver.session()


def _run_range(
    options: RunOptions,
    driver: SparkDriver,
    steps: Steps,
    between: tuple[StartingPoint | None, StartingPoint | None],
    *,
    as_json: bool,
) -> None:
    from penstock.cli.rendering import table
    from penstock.control import run_bounded
    from penstock.kafka import FromBeginning, FromEnd

    start, end = between
    results = [
        *run_bounded(options, driver, start or FromBeginning(), end or FromEnd(), emit=steps.emit)
    ]
    steps.close()
    if as_json:
        click.echo(json.dumps([_document(result) for result in results]))
        return
    table(
        ("flow", "offsets read", "rows written", "dead letters"),
        [(item.flow, item.offsets, item.output_rows, item.dead_letters) for item in results],
    )


def _document(result: BoundedResult) -> dict[str, object]:
    ranges = {str(place): [first, after] for place, (first, after) in result.ranges.items()}
    return {
        "flow": result.flow,
        "ranges": ranges,
        "output_rows": result.output_rows,
        "dead_letters": result.dead_letters,
    }


def _run(
    options: RunOptions, driver: SparkDriver, claim: Claim, steps: Steps, *, as_json: bool
) -> bool:
    """Run until the end, and return whether the driver's keeper shall start it again."""
    from penstock.control import PipelineRun

    output = output_of(options, driver, steps, as_json=as_json)
    pipeline_run = PipelineRun(
        options, driver, claim, notify=output.notify, emit=steps.emit, on_stop=output.say_stopping
    )
    try:
        with stopping_on_signals(pipeline_run):
            pipeline_run.run()
    finally:
        output.close()
    return pipeline_run.starts_again


def output_of(
    options: RunOptions, driver: SparkDriver, steps: Steps, *, as_json: bool
) -> RunOutput:
    """Return what shows a run on this terminal, in this pipe, or to this program."""
    from penstock.cli.run_output import JsonOutput, LiveOutput, PlainOutput
    from penstock.control import FlowState, PipelineStatus

    if as_json:
        return JsonOutput(steps)
    names = [flow.name for flow in options.flows]
    at_first = FlowState.PENDING if options.once else FlowState.STARTING
    status = PipelineStatus(names, at_first=at_first)
    # Escape codes mean nothing to a dumb terminal: lines are all it can show.
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return LiveOutput(steps, partial(_heading, options, driver, datetime.now(UTC)), status)
    return PlainOutput(steps, status)


def _heading(options: RunOptions, driver: SparkDriver, since: datetime) -> Heading:
    from penstock.cli.live import Heading

    return Heading(
        pipeline=options.pipeline.name,
        profile=options.settings.profile,
        cluster=options.connection.bootstrap,
        since=since,
        spark_ui=driver.session().sparkContext.uiWebUrl,
    )


@contextmanager
def stopping_on_signals(running: PipelineRun) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the run while the block runs.

    Before the first flow starts there is nothing to finish, and Ctrl-C has its usual effect.
    """
    usual = {number: signal.getsignal(number) for number in _SIGNALS}

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not running.has_flows:
            raise KeyboardInterrupt
        running.stop()

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
