"""`penstock alerts`: what fires, silences, and whether alerts arrive."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from penstock.cli.options import SPAN, cluster_options, connection_of, json_option
from penstock.cli.projects import project_settings
from penstock.cli.rendering import show, table
from penstock.cli.trail import Deed, on_the_trail

if TYPE_CHECKING:
    from datetime import timedelta

    from penstock.monitoring.alerts import Rule
    from penstock.settings import Settings

_NOT_ARRIVED = 1


class _Label(click.ParamType[tuple[str, str]]):
    """A label and what it must be: `group=orders-*`."""

    name = "label"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return the label and the pattern."""
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\w+)=(.*)", str(value))
        if match is None:
            self.fail(f"{value!r} is not a label; write group=orders", param, ctx)
        return match[1], match[2]


@click.group()
def alerts() -> None:
    """Alerts: what fires now, silences, and whether messages arrive.

    Rules and deliveries are in penstock.toml, under [alerts]. The console evaluates them; these
    commands work without one, and say so when none does.
    """


@alerts.command(name="list")
@click.option("--past", "with_past", is_flag=True, help="Show those of the last week too.")
@cluster_options
@json_option
def list_command(
    *, with_past: bool, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """List the alerts that fire or are pending, silenced ones too, and the silences.

    \b
    Examples:
      penstock alerts list
      penstock alerts list --past
      penstock alerts list --json | jq '.alerts[] | select(.state == "firing")'
    """
    from datetime import UTC, datetime

    from penstock.cli.alert_views import alerts_payload, print_alerts
    from penstock.monitoring.alerts import AlertTable, stored_view

    settings = project_settings(None, profile, bootstrap=bootstrap)
    with AlertTable(connection_of(settings)) as stored:
        view = stored_view(stored, datetime.now(UTC))
    show(
        alerts_payload(view, with_past=with_past),
        lambda: print_alerts(view, with_past=with_past),
        as_json=as_json,
    )


@alerts.command()
@click.argument("delivery", required=False)
@cluster_options
@json_option
def test(
    *, delivery: str | None, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Send a test through each delivery, or through DELIVERY, and say which arrived.

    The rules are checked as well. The status is 1 when a test did not arrive.

    \b
    Examples:
      penstock alerts test
      penstock alerts test mail --profile production
    """
    from datetime import UTC, datetime

    from penstock.monitoring.alerts import (
        DeliveryName,
        NoDeliveryError,
        open_deliveries,
        try_deliveries,
    )

    settings = project_settings(None, profile, bootstrap=bootstrap)
    _rules(settings)
    connection, known = connection_of(settings), settings.alerts.delivery
    deliveries = open_deliveries(known, connection)
    if not deliveries or (delivery is not None and delivery not in known):
        raise NoDeliveryError(delivery, known=known)
    if delivery is not None:
        deliveries = {DeliveryName(delivery): deliveries[DeliveryName(delivery)]}
    try:
        trials = try_deliveries(
            deliveries, cluster=connection.bootstrap, who=_caller(), now=datetime.now(UTC)
        )
    finally:
        for opened in deliveries.values():
            opened.close()
    show(
        [
            {
                "delivery": trial.delivery,
                "where": trial.where,
                "arrived": trial.error is None,
                "error": trial.error.as_dict() if trial.error else None,
            }
            for trial in trials
        ],
        lambda: table(
            ("delivery", "where", "arrived", "reason"),
            [
                (
                    trial.delivery,
                    trial.where,
                    trial.error is None,
                    trial.error.message if trial.error else None,
                )
                for trial in trials
            ],
        ),
        as_json=as_json,
    )
    if any(trial.error for trial in trials):
        raise SystemExit(_NOT_ARRIVED)


@alerts.command()
@click.argument("rule")
@click.option(
    "--where", type=_Label(), multiple=True, metavar="LABEL=PATTERN", help="May be repeated."
)
@click.option("--for", "span", type=SPAN, required=True, metavar="SPAN", help="30m, 6h or 7d.")
@click.option("--why", required=True, help="For whoever wonders.")
@cluster_options
@json_option
def silence(
    *,
    rule: str,
    where: tuple[tuple[str, str], ...],
    span: timedelta,
    why: str,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Let nothing be told of the alerts of RULE for a while; `*` stands for any text.

    That an alert is over is told all the same to whoever was told that it fires.

    \b
    Examples:
      penstock alerts silence under-replicated-partitions --for 2h --why "broker 2 is replaced"
      penstock alerts silence 'lag-*' --where group=orders --for 30m --why "replay of May"
      penstock alerts silence '*' --for 1h --why maintenance
    """
    from datetime import UTC, datetime

    from penstock.cli.alert_views import silence_payload
    from penstock.monitoring.alerts import AlertTable, new_silence

    settings = project_settings(None, profile, bootstrap=bootstrap)
    begun = new_silence(
        rule,
        dict(where),
        span=span,
        who=_caller(),
        why=why,
        rules=_rules(settings),
        now=datetime.now(UTC),
    )
    deed = Deed("silence_alerts", "alerts")
    with on_the_trail(settings, deed) as did, AlertTable(connection_of(settings)) as stored:
        stored.add_silence(begun)
        did(deed, f"Alerts of {begun.rule} are silent until {begun.until:%Y-%m-%d %H:%M} UTC.")
    show(
        silence_payload(begun),
        lambda: click.echo(f"{begun.id}: silent until {begun.until:%Y-%m-%d %H:%M:%S} UTC"),
        as_json=as_json,
    )


@alerts.command()
@click.argument("silence_id", metavar="ID")
@cluster_options
@json_option
def unsilence(
    *, silence_id: str, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """End the silence ID; `penstock alerts list` shows the ids."""
    from penstock.cli.alert_views import silence_payload
    from penstock.monitoring.alerts import AlertTable, SilenceId

    settings = project_settings(None, profile, bootstrap=bootstrap)
    deed = Deed("end_silence", f"silence {silence_id}")
    with on_the_trail(settings, deed) as did, AlertTable(connection_of(settings)) as stored:
        ended = stored.end_silence(SilenceId(silence_id))
        did(deed, f"The silence of {ended.rule} has ended.")
    show(silence_payload(ended), lambda: click.echo(f"{ended.id}: ended"), as_json=as_json)


def _rules(settings: Settings) -> tuple[Rule, ...]:
    from penstock.monitoring.alerts import READY_MADE, rules_of

    return rules_of(settings.alerts.rules, READY_MADE)


def _caller() -> str:
    import getpass
    import platform

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container without an entry for its user
        user = "unknown"
    return f"{user}@{platform.node() or 'unknown'}"
