"""`penstock demo`: the main job on this machine, from nothing to a checked result."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.cli.run_output import Steps
    from penstock.control import Claim, RunOptions
    from penstock.demo import Result, Tally, Traffic
    from penstock.engine import SparkDriver
    from penstock.engine.events import PipelineEvent
    from penstock.kafka import Connection
    from penstock.local import PlatformStatus
    from penstock.settings import Settings

NAME = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for."""

    traffic: Traffic
    keep: bool
    as_json: bool


@click.command()
@click.option(
    "--rate", default=2_000, show_default=True, type=click.IntRange(1), help="Lines per second."
)
@click.option(
    "--seconds", default=30, show_default=True, type=click.IntRange(1), help="How long to send."
)
@click.option("--seed", default=1, show_default=True, help="The same seed sends the same lines.")
@click.option(
    "--broken",
    default=0.01,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of broken lines.",
)
@click.option("--keep", is_flag=True, help="Go on after the check until Ctrl-C, to look around.")
@json_option
def demo(rate: int, seconds: int, seed: int, broken: float, *, keep: bool, as_json: bool) -> None:
    """Detect fraud in web logs: Kafka, Spark, half a minute of traffic, and a check.

    Starts a platform of its own in a temporary folder, runs the pipeline of examples/fraud on it,
    sends web-log lines of which about one in sixteen comes from a blocked network, and compares
    what the pipeline has written with what the sender counted. Ends by itself; all is gone then.
    With --keep, platform, console and pipeline stay up after the check, with a tenth of the
    traffic, until Ctrl-C.

    Exit status: 0 only if every count is right.

    \b
    Examples:
      penstock demo
      penstock demo --keep
      penstock demo --rate 10000 --seconds 60 --broken 0.05
    """
    from penstock.cli.run_output import Steps
    from penstock.demo import DemoFailedError, Traffic

    traffic = Traffic(rate=rate, duration_seconds=seconds, seed=seed, broken_share=broken)
    wishes = Wishes(traffic=traffic, keep=keep, as_json=as_json)
    steps = Steps()
    try:
        with TemporaryDirectory(prefix="penstock-demo-") as folder:
            result = _demonstrate(Path(folder), wishes, steps)
    finally:
        steps.close()
    if result is None:
        raise click.Abort
    if not keep:
        _show(result, as_json=as_json)
    if result.failed:
        raise DemoFailedError(result.failed)


def _demonstrate(folder: Path, wishes: Wishes, steps: Steps) -> Result | None:
    from penstock.cli.run import claim_of
    from penstock.demo import project_folder
    from penstock.engine import SparkDriver, Tuning, session_options
    from penstock.events import StepFinished
    from penstock.kafka import Connection
    from penstock.settings import load_settings

    settings = load_settings(
        {
            "platform.name": NAME,
            "platform.data_dir": str(folder),
            "platform.port": 0,
            "registry.port": 0,
            "console.port": 0,
            "spark.checkpoint_root": str(folder / "checkpoints"),
            "spark.warehouse": str(folder / "tables"),
        },
        start=project_folder(),
    )
    session = session_options(
        settings,
        app_name="fraud",
        log_file=folder / "spark.log",
        # It runs for a minute: a quick start is worth more than speed in the long run.
        tuning=Tuning.QUICK_START,
    )
    with (
        SparkDriver.start(session, emit=steps.emit) as driver,
        _platform(settings, steps) as platform,
    ):
        assert platform.console is not None  # noqa: S101 - every platform has one
        steps.emit(StepFinished(step="the console", detail=platform.console.url))
        connection = Connection(bootstrap=str(platform.bootstrap))
        options = _options(settings, connection)
        with claim_of(project_folder(), settings, connection, steps) as claim:
            return _run(options, driver, claim, wishes, platform, steps)


@contextmanager
def _platform(settings: Settings, steps: Steps) -> Iterator[PlatformStatus]:
    """Run a platform while the block runs."""
    from penstock.local import Platform

    platform = Platform(settings.platform)
    try:
        yield platform.up(settings, brokers=1, emit=steps.emit)
    finally:
        platform.down()


def _options(settings: Settings, connection: Connection) -> RunOptions:
    from penstock.cli.projects import declared_pipeline
    from penstock.control import RunOptions
    from penstock.demo import project_folder

    pipeline = declared_pipeline(project_folder(), settings)
    return RunOptions(
        pipeline=pipeline,
        flows=pipeline.flows,
        settings=settings,
        connection=connection,
    )


def _run(
    options: RunOptions,
    driver: SparkDriver,
    claim: Claim,
    wishes: Wishes,
    platform: PlatformStatus,
    steps: Steps,
) -> Result | None:
    from penstock.cli.run import output_of, stopping_on_signals
    from penstock.control import PipelineRun
    from penstock.demo import Conductor, examine, examine_running

    output = output_of(options, driver, steps, as_json=wishes.as_json)
    kept: list[Result] = []

    def notify(event: PipelineEvent) -> None:
        conductor.hear(event)
        if wishes.as_json or not kept:
            output.notify(event)

    def keep(tally: Tally) -> None:
        """Show the result in the place of the run, which goes on unseen."""
        kept.append(examine_running(options, tally))
        output.close()
        _show(kept[0], as_json=wishes.as_json)
        _say_kept(platform, as_json=wishes.as_json)

    def say_stopping() -> None:
        if not kept:
            output.say_stopping()

    run = PipelineRun(options, driver, claim, notify=notify, emit=steps.emit, on_stop=say_stopping)
    conductor = Conductor(options, wishes.traffic, run.stop, keep=keep if wishes.keep else None)
    try:
        with stopping_on_signals(run):
            run.run()
    finally:
        conductor.close()
        if not kept:
            output.close()
    tally = conductor.tally()
    if tally is None or kept:
        return kept[0] if kept else None
    return examine(options, tally)


def _say_kept(platform: PlatformStatus, *, as_json: bool) -> None:
    assert platform.console is not None  # noqa: S101 - every platform has one
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(platform.folder.parents[1]),
        "PENSTOCK_PLATFORM_NAME": platform.name,
    }
    if as_json:
        kept = {"console": platform.console.url, "environment": environment}
        click.echo(json.dumps({"kept": kept}))
        return
    exports = " ".join(f"{name}={value}" for name, value in environment.items())
    click.echo(
        f"\nit goes on, with a tenth of the traffic; the console: {platform.console.url}\n"
        "commands find it in another terminal after\n\n"
        f"  export {exports}\n\n"
        "then `penstock show fraud`, for example. Ctrl-C ends and removes all of it"
    )


def _show(result: Result, *, as_json: bool) -> None:
    from penstock.cli.rendering import table

    tally = result.tally
    if as_json:
        document = {
            "sent": tally.sent,
            "hits": tally.hit_count,
            "broken": tally.broken_count,
            "seconds": round(tally.seconds, 1),
            "latency_seconds": {f"p{key}": value for key, value in result.latency_seconds.items()},
            "checks": [asdict(check) for check in result.checks],
        }
        click.echo(json.dumps({"result": document}))
        return
    click.echo(
        f"\n{tally.sent:,} lines in {tally.seconds:.0f} s ({tally.sent / tally.seconds:,.0f} a"
        f" second): {tally.hit_count:,} hits ({tally.hit_count / tally.good_count:.2%}),"
        f" {tally.broken_count:,} broken lines"
    )
    waits = ", ".join(f"p{key} {value:.2f} s" for key, value in result.latency_seconds.items())
    click.echo(f"from a line in `iprecord` to its hit in `fraudip`: {waits}\n")
    table(
        ("check", "expected", "found", ""),
        [
            (check.what, check.expected, check.found, "ok" if check.holds else "WRONG")
            for check in result.checks
        ],
    )
    if not result.failed:
        click.echo("\nevery count is right")
