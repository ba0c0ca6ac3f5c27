"""`penstock cluster`: the cluster as a whole, and the dynamic configs of its brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.cluster_views import cluster_payload, print_cluster
from penstock.cli.config_options import SETTING, alterations
from penstock.cli.config_views import (
    changes_payload,
    chosen,
    entry_payload,
    in_force,
    print_changes,
)
from penstock.cli.options import (
    cluster_options,
    cluster_settings,
    connect,
    connection_of,
    json_option,
    yes_option,
)
from penstock.cli.rendering import confirm, show, table
from penstock.cli.trail import Deed, on_the_trail
from penstock.errors import UsageError
from penstock.names import BrokerId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import Admin, BrokerTarget, ConfigAlteration, ConfigEntry
    from penstock.settings import Settings


class BrokerTargetError(UsageError):
    """A change of configs needs to know whose, in exactly one way."""

    code = "PEN-924"

    def __init__(self) -> None:
        super().__init__(
            "a change of broker configs is for one broker or for all of them",
            hint="use either `--broker ID` or `--default`",
        )


broker_option = click.option("--broker", type=click.IntRange(0), metavar="ID", help="One broker.")
default_option = click.option(
    "--default", "all_brokers", is_flag=True, help="What holds for all brokers together."
)


@click.group()
def cluster() -> None:
    """Brokers, controller quorum, features, disk usage and dynamic configs."""


@cluster.command()
@cluster_options
@json_option
def describe(*, bootstrap: str | None, profile: str | None, as_json: bool) -> None:
    """Show brokers, controller quorum, features, health and disk usage.

    Kafka's client for Python cannot ask for quorum, features and sizes; they are asked over a
    plain connection, and not shown for clusters with encryption or authentication.

    \b
      penstock cluster describe
      penstock cluster describe --json --bootstrap kafka-1:9092
    """
    from penstock.kafka import Admin, describe_cluster

    with Admin(connect(bootstrap, profile)) as admin:
        found = describe_cluster(admin)
    show(cluster_payload(found), lambda: print_cluster(found), as_json=as_json)


@cluster.group()
def config() -> None:
    """Read and change the configs of brokers while they run."""


@config.command()
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@broker_option
@default_option
@click.option("--all", "defaults", is_flag=True, help="Also configs at Kafka's defaults.")
@cluster_options
@json_option
def get(
    *,
    keys: tuple[str, ...],
    broker: int | None,
    all_brokers: bool,
    defaults: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Show configs of brokers with their source; secrets are masked.

    Without --broker and --default all brokers are asked. Given no KEY, only configs that
    somebody has set are shown.

    \b
      penstock cluster config get
      penstock cluster config get num.io.threads --broker 1
      penstock cluster config get --default
    """
    from penstock.kafka import Admin

    with Admin(connect(bootstrap, profile)) as admin:
        found = [
            (target, entry)
            for target in _targets(admin, broker, all_brokers=all_brokers)
            for entry in _asked(admin, target, keys, defaults=defaults)
        ]
    payload = [{"owner": str(target)} | entry_payload(entry) for target, entry in found]
    show(payload, lambda: _print_entries(found), as_json=as_json)


def _targets(admin: Admin, broker: int | None, *, all_brokers: bool) -> list[BrokerTarget]:
    from penstock.kafka import AllBrokers, OneBroker

    if broker is not None and all_brokers:
        raise BrokerTargetError
    if all_brokers:
        return [AllBrokers()]
    if broker is not None:
        return [OneBroker(BrokerId(broker))]
    return [OneBroker(BrokerId(known)) for known in sorted(admin.metadata().brokers)]


def _asked(
    admin: Admin, target: BrokerTarget, keys: Sequence[str], *, defaults: bool
) -> Sequence[ConfigEntry]:
    from penstock.kafka import current_configs, ensure_known_broker_configs

    entries = current_configs(admin, target)
    if not keys:
        return chosen(entries, defaults=defaults)
    ensure_known_broker_configs(admin, keys, entries)
    return [entry for entry in entries if entry.name in keys]


def _print_entries(found: Sequence[tuple[BrokerTarget, ConfigEntry]]) -> None:
    """Print a line per value: brokers that agree share it."""
    owners: dict[tuple[str, str | None, str], list[str]] = {}
    for target, entry in found:
        key = (entry.name, entry.shown, str(entry.source))
        owners.setdefault(key, []).append(str(target).removeprefix("broker "))
    rows = [
        [name, value, source, ",".join(shared)]
        for (name, value, source), shared in sorted(owners.items(), key=lambda item: item[0][0])
    ]
    table(["config", "value", "source", "brokers"], rows)


@config.command(name="set")
@click.argument("settings", nargs=-1, required=True, type=SETTING, metavar="KEY=VALUE...")
@broker_option
@default_option
@yes_option
@cluster_options
@json_option
def set_command(
    *,
    settings: tuple[tuple[str, str], ...],
    broker: int | None,
    all_brokers: bool,
    yes: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Set dynamic configs of one broker or of all; they survive restarts.

    \b
      penstock cluster config set num.io.threads=4 --broker 1
      penstock cluster config set log.retention.ms=86400000 --default
    """
    target, asked = _one_target(broker, all_brokers=all_brokers), alterations(settings)
    _change(cluster_settings(bootstrap, profile), target, asked, yes=yes, as_json=as_json)


@config.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@broker_option
@default_option
@yes_option
@cluster_options
@json_option
def unset(
    *,
    keys: tuple[str, ...],
    broker: int | None,
    all_brokers: bool,
    yes: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Remove dynamic configs, so that the broker's file or Kafka's default holds again.

    \b
      penstock cluster config unset num.io.threads --broker 1
    """
    target, asked = _one_target(broker, all_brokers=all_brokers), alterations((), keys)
    _change(cluster_settings(bootstrap, profile), target, asked, yes=yes, as_json=as_json)


def _one_target(broker: int | None, *, all_brokers: bool) -> BrokerTarget:
    from penstock.kafka import AllBrokers, OneBroker

    if (broker is None) != all_brokers:
        raise BrokerTargetError
    return AllBrokers() if broker is None else OneBroker(BrokerId(broker))


def _change(
    settings: Settings,
    target: BrokerTarget,
    wanted: Sequence[ConfigAlteration],
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Show what would change, ask, change it, show what has changed."""
    from penstock.kafka import Admin, AllBrokers, apply_broker_configs, plan_broker_configs

    action = "alter_all_brokers" if isinstance(target, AllBrokers) else "alter_broker"
    deed = Deed(action, str(target))
    with Admin(connection_of(settings)) as admin, on_the_trail(settings, deed) as did:
        current = plan_broker_configs(admin, target, wanted)
        if not yes:
            for alteration, entry in zip(wanted, current, strict=True):
                new = "removed" if alteration.value is None else alteration.value
                click.echo(f"{target}: {alteration.name} {in_force(entry)} → {new}", err=True)
        confirm(f"change {len(wanted)} configs of {target}", yes=yes)
        changes = apply_broker_configs(admin, target, wanted)
        did(deed, f"The configs of {target} were changed: {', '.join(map(str, changes))}.")
    payload = {"owner": str(target), "configs": changes_payload(changes)}
    show(payload, lambda: print_changes(str(target), changes), as_json=as_json)
