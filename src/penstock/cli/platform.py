"""`penstock up`, `penstock down` and `penstock platform`: Kafka and what goes with it, here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option, yes_option
from penstock.cli.rendering import confirm, human_bytes, progress, show, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from penstock.local import (
        BrokerStatus,
        Platform,
        PlatformStatus,
        SparkStatus,
        WebStatus,
    )
    from penstock.settings import Settings

name_option = click.option("--name", metavar="NAME", help="Which platform; default: `local`.")


@click.command()
@name_option
@click.option(
    "--brokers",
    type=click.Choice(["1", "3"]),
    help="How many brokers; three keep going when one fails. Default: 1.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65000),
    help="Port of the first broker, the others follow; 0 takes free ones. Default: 9092 if free.",
)
@click.option(
    "--spark-workers",
    type=click.IntRange(0, 16),
    metavar="N",
    help="Also start a Spark cluster of a master and N workers; 0: none. Default: as it was.",
)
@json_option
def up(
    *,
    name: str | None,
    brokers: str | None,
    port: int | None,
    spark_workers: int | None,
    as_json: bool,
) -> None:
    """Start Kafka, a schema registry and the console here, and Spark if you like; no Docker.

    Returns when a record has been written and read back. The brokers go on when the terminal is
    closed, are restarted when they crash, and keep their data over `penstock down`. So do the
    registry, which keeps its schemas in Kafka, the console, and Spark; a pipeline runs there when
    `spark.master` says so.

    \b
    Examples:
      penstock up                              one broker at 127.0.0.1:9092
      penstock up --brokers 3                  replication 3, survives the loss of one
      penstock up --name trial --port 0        a second platform beside the first
      penstock up --spark-workers 2            pipelines run as on a cluster
    """
    settings, platform = _platform(name, port=port)
    with progress() as emit:
        status = platform.up(
            settings,
            brokers=int(brokers) if brokers else None,
            spark_workers=spark_workers,
            emit=emit,
        )
    show(_as_json(status), lambda: _show_ready(status), as_json=as_json)


@click.command()
@name_option
@click.option("--delete-data", is_flag=True, help="Remove the platform's records and logs too.")
@yes_option
@json_option
def down(*, name: str | None, delete_data: bool, yes: bool, as_json: bool) -> None:
    """Stop Kafka and all beside it on this machine; data stays unless you say otherwise.

    \b
    Examples:
      penstock down                            `penstock up` goes on where this stopped
      penstock down --delete-data              start over with nothing
    """
    _, platform = _platform(name)
    folder = platform.folder.root
    delete_data = delete_data and folder.is_dir()
    if delete_data:
        act = f"remove `{folder}` with {human_bytes(_size_of(folder))} of records and logs"
        confirm(act, yes=yes)
    with progress() as emit:
        ended = platform.down(delete_data=delete_data, emit=emit)
    payload = {"name": platform.name, "was_running": ended, "data_deleted": delete_data}
    text = f"platform `{platform.name}` is down" if ended else "nothing was running"
    rest = "; its data is gone" if delete_data else ""
    show(payload, lambda: click.echo(text + rest), as_json=as_json)


@click.group()
def platform() -> None:
    """The local platform: status, logs, and single brokers."""


@platform.command()
@name_option
@json_option
def status(*, name: str | None, as_json: bool) -> None:
    """Show each part: state, address, memory, restarts, why the last one ended.

    Exit status 1 when the platform is not running, or a part of it is not.
    """
    from penstock.local import BrokerState

    _, chosen = _platform(name)
    found = chosen.status()
    show(_as_json(found), lambda: _show_status(found), as_json=as_json)
    states = [broker.state for broker in found.brokers] + [node.state for node in found.spark]
    states += [part.state for part in found.web]
    if not found.running or any(state is not BrokerState.RUNNING for state in states):
        raise SystemExit(1)


@platform.command()
@click.argument("component", metavar="COMPONENT")
@name_option
@click.option("-n", "--lines", type=click.IntRange(0), default=50, help="How many; default: 50.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written; Ctrl-C ends it.")
def logs(*, component: str, name: str | None, lines: int, follow: bool) -> None:
    """Print the log of a COMPONENT: `broker-1`, `registry`, `console`, `supervisor` ….

    \b
    Examples:
      penstock platform logs broker-1
      penstock platform logs broker-1 -f -n 0
    """
    from penstock.local import follow_log, tail_log

    _, chosen = _platform(name)
    path = chosen.log_file(component)
    for line in tail_log(path, lines):
        click.echo(line)
    if follow:
        _print_until_interrupted(follow_log(path, pause=lambda: time.sleep(0.2)))


@platform.group()
def broker() -> None:
    """Stop, kill or start one broker, to see what a failure does."""


def _broker_command(verb_name: str, help_text: str) -> None:
    @broker.command(verb_name, help=help_text)
    @click.argument("broker_id", metavar="ID", type=int)
    @name_option
    @json_option
    def command(*, broker_id: int, name: str | None, as_json: bool) -> None:
        from penstock.local import Verb
        from penstock.names import BrokerId

        _, chosen = _platform(name)
        with progress() as emit:
            state = chosen.command_broker(Verb(verb_name), BrokerId(broker_id), emit)
        text = f"broker {broker_id} is {state.state}"
        show(_part_json(state), lambda: click.echo(text), as_json=as_json)


_broker_command("stop", "Stop broker ID in good order; it stays down until started.")
_broker_command("kill", "End broker ID as a power cut would; it stays down until started.")
_broker_command("start", "Start broker ID again.")


def _platform(name: str | None, *, port: int | None = None) -> tuple[Settings, Platform]:
    from penstock.local import Platform
    from penstock.settings import load_settings

    settings = load_settings({"platform.name": name, "platform.port": port})
    return settings, Platform(settings.platform)


def _print_until_interrupted(lines: Iterator[str]) -> None:
    try:
        for line in lines:
            click.echo(line)
    except KeyboardInterrupt:
        return


def _show_ready(status: PlatformStatus) -> None:
    from penstock.settings import DEFAULT_PLATFORM

    click.echo(f"Kafka {status.kafka_version} is ready at {status.bootstrap}")
    if status.registry:
        click.echo(f"the schema registry is ready at {status.registry.url}")
    if status.console:
        click.echo(f"the console is ready at {status.console.url}")
    if status.spark_master:
        click.echo(f"Spark is ready at {status.spark_master}; its pages: {status.spark[0].ui}")
    if status.name != DEFAULT_PLATFORM:
        click.echo(f"to work with it: export PENSTOCK_PLATFORM_NAME={status.name}")
    click.echo("next: penstock topics create NAME, penstock produce NAME, penstock consume NAME")


def _show_status(status: PlatformStatus) -> None:
    if status.bootstrap is None:
        click.echo(f"platform `{status.name}` does not exist; `penstock up` makes it")
        return
    memory = status.resident_bytes()
    state = "running" if status.running else "not running"
    click.echo(f"platform `{status.name}` is {state}; data in {status.folder}")
    left = [broker.pid for broker in status.brokers] + [node.pid for node in status.spark]
    left += [part.pid for part in status.web]
    if any(left) and not status.running:
        click.echo("its supervisor died; `penstock up` or `penstock down` cleans up")
    table(
        ["broker", "state", "address", "pid", "memory", "since", "restarts", "last exit"],
        [
            (
                item.broker_id,
                item.state,
                f"127.0.0.1:{item.port}",
                item.pid,
                human_bytes(memory[item.pid]) if item.pid else None,
                item.since or None,
                item.restarts,
                item.last_exit,
            )
            for item in status.brokers
        ],
    )
    if status.web:
        click.echo()
        _show_web(status.web, memory)
    if status.spark:
        click.echo(f"\nSpark at {status.spark_master}")
        _show_spark(status, memory)


def _show_web(parts: Iterable[WebStatus], memory: Mapping[int, int]) -> None:
    table(
        ["beside it", "address", "state", "pid", "memory", "since", "restarts", "last exit"],
        [
            (
                item.name,
                item.url,
                item.state,
                item.pid,
                human_bytes(memory[item.pid]) if item.pid else None,
                item.since or None,
                item.restarts,
                item.last_exit,
            )
            for item in parts
        ],
    )


def _show_spark(status: PlatformStatus, memory: Mapping[int, int]) -> None:
    table(
        ["spark", "state", "web pages", "pid", "memory", "since", "restarts", "last exit"],
        [
            (
                item.name,
                item.state,
                item.ui,
                item.pid,
                human_bytes(memory[item.pid]) if item.pid else None,
                item.since or None,
                item.restarts,
                item.last_exit,
            )
            for item in status.spark
        ],
    )


def _as_json(status: PlatformStatus) -> dict[str, object]:
    memory = status.resident_bytes()
    return {
        "name": status.name,
        "running": status.running,
        "bootstrap": status.bootstrap,
        "kafka_version": status.kafka_version,
        "folder": status.folder,
        "supervisor_pid": status.supervisor_pid,
        "brokers": [
            _part_json(item) | {"resident_bytes": memory.get(item.pid or 0)}
            for item in status.brokers
        ],
        "registry": None,
        "console": None,
        **{
            part.name: _part_json(part) | {"resident_bytes": memory.get(part.pid or 0)}
            for part in status.web
        },
        "spark_master": status.spark_master,
        "spark": [
            _part_json(item) | {"resident_bytes": memory.get(item.pid or 0)}
            for item in status.spark
        ],
    }


def _part_json(item: BrokerStatus | SparkStatus | WebStatus) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(item)


def _size_of(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
