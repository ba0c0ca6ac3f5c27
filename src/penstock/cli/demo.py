"""`penstock demo`: the main job on this machine, from nothing to a checked result."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option

if TYPE_CHECKING:
    from penstock.cli.run_output import Steps
    from penstock.control import Claim, RunOptions
    from penstock.demo import Result, Traffic
    from penstock.engine import SparkDriver
    from penstock.engine.events import PipelineEvent
    from penstock.local.cluster import KafkaCluster
    from penstock.settings import Settings


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
@json_option
def demo(rate: int, seconds: int, seed: int, broken: float, *, as_json: bool) -> None:
    """Detect fraud in web logs: Kafka, Spark, half a minute of traffic, and a check.

    Starts a Kafka of its own in a temporary folder, runs the pipeline of examples/fraud on it,
    sends web-log lines of which about one in sixteen comes from a blocked network, and compares
    what the pipeline has written with what the sender counted. Ends by itself; all is gone then.

    Exit status: 0 only if every count is right.

    \b
    Examples:
      penstock demo
      penstock demo --rate 10000 --seconds 60 --broken 0.05
    """
    from penstock.cli.run_output import Steps
    from penstock.demo import DemoFailedError, Traffic

    traffic = Traffic(rate=rate, duration_seconds=seconds, seed=seed, broken_share=broken)
    steps = Steps()
    try:
        with TemporaryDirectory(prefix="penstock-demo-") as folder:
            result = _demonstrate(Path(folder), traffic, steps, as_json=as_json)
    finally:
        steps.close()
    if result is None:
        raise click.Abort
    _show(result, as_json=as_json)
    if result.failed:
        raise DemoFailedError(result.failed)
    if not as_json:
        click.echo("\nevery count is right")


def _demonstrate(folder: Path, traffic: Traffic, steps: Steps, *, as_json: bool) -> Result | None:
    from penstock.cli.run import claim_of
    from penstock.demo import project_folder
    from penstock.engine import SparkDriver, Tuning, session_options
    from penstock.events import StepFinished, StepStarted
    from penstock.local.cluster import KafkaCluster
    from penstock.settings import load_settings

    settings = load_settings(
        {
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
    with SparkDriver.start(session, emit=steps.emit) as driver:
        steps.emit(StepStarted(step="starting Kafka"))
        with KafkaCluster.start(brokers=1, data_dir=folder / "kafka", emit=steps.emit) as cluster:
            steps.emit(StepFinished(step="starting Kafka"))
            options = _options(settings, cluster)
            with claim_of(project_folder(), settings, cluster.connection, steps) as claim:
                return _run(options, driver, claim, traffic, steps, as_json=as_json)


def _options(settings: Settings, cluster: KafkaCluster) -> RunOptions:
    from penstock.cli.projects import declared_pipeline
    from penstock.control import RunOptions
    from penstock.demo import project_folder

    pipeline = declared_pipeline(project_folder(), settings)
    return RunOptions(
        pipeline=pipeline,
        flows=pipeline.flows,
        settings=settings,
        connection=cluster.connection,
    )


def _run(
    options: RunOptions,
    driver: SparkDriver,
    claim: Claim,
    traffic: Traffic,
    steps: Steps,
    *,
    as_json: bool,
) -> Result | None:
    from penstock.cli.run import output_of, stopping_on_signals
    from penstock.control import PipelineRun
    from penstock.demo import Conductor, examine

    output = output_of(options, driver, steps, as_json=as_json)

    def notify(event: PipelineEvent) -> None:
        conductor.hear(event)
        output.notify(event)

    run = PipelineRun(
        options, driver, claim, notify=notify, emit=steps.emit, on_stop=output.say_stopping
    )
    conductor = Conductor(options, traffic, run.stop)
    try:
        with stopping_on_signals(run):
            run.run()
    finally:
        conductor.close()
        output.close()
    tally = conductor.tally()
    return None if tally is None else examine(options, tally)


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
