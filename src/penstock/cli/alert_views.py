"""How commands show alerts and silences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import table

if TYPE_CHECKING:
    from penstock.monitoring.alerts import AlertsView, AlertView, Past, Silence


def alerts_payload(view: AlertsView, *, with_past: bool) -> dict[str, object]:
    """Return everything that `penstock alerts list` prints."""
    duty = view.duty
    return {
        "evaluated": view.is_evaluated,
        "evaluated_at": duty.evaluated_at if duty else None,
        "evaluator": f"process {duty.pid} on {duty.host}" if duty else None,
        "alerts": [_alert_payload(item) for item in view.alerts],
        "silences": [silence_payload(silence) for silence in view.silences],
        "deliveries": {
            name: {
                "arrived_at": result.arrived_at,
                "failed_at": result.failed_at,
                "reason": result.reason,
            }
            for name, result in (duty.deliveries if duty else {}).items()
        },
        **({"past": [_past_payload(past) for past in view.past]} if with_past else {}),
    }


def silence_payload(silence: Silence) -> dict[str, object]:
    """Return the fields of a silence."""
    return {
        "id": silence.id,
        "rule": silence.rule,
        "where": dict(silence.where),
        "begun_at": silence.begun_at,
        "until": silence.until,
        "who": silence.who,
        "why": silence.why,
    }


def print_alerts(view: AlertsView, *, with_past: bool) -> None:
    """Print alerts, silences and what is wrong with telling them."""
    if view.alerts:
        table(
            ("state", "severity", "rule", "since", "message"),
            [
                (
                    _state(item),
                    item.alert.severity,
                    item.alert.rule,
                    item.alert.since,
                    item.alert.message,
                )
                for item in view.alerts
            ],
        )
    if view.silences:
        click.echo()
        table(
            ("silence", "rule", "where", "until", "who", "why"),
            [
                (
                    silence.id,
                    silence.rule,
                    [f"{label}={pattern}" for label, pattern in silence.where] or None,
                    silence.until,
                    silence.who,
                    silence.why,
                )
                for silence in view.silences
            ],
        )
    if with_past and view.past:
        click.echo()
        table(
            ("past", "severity", "from", "to", "message"),
            [
                (past.rule, past.severity, past.fired_at, past.resolved_at, past.message)
                for past in view.past
            ],
        )
    _print_notes(view)


def _print_notes(view: AlertsView) -> None:
    duty = view.duty
    if not view.alerts:
        click.echo("nothing fires and nothing is pending", err=True)
    if duty is None:
        click.echo("no console has evaluated any rule yet: start `penstock console`", err=True)
    elif not view.is_evaluated:
        click.echo(
            f"no console evaluates the rules since {duty.evaluated_at:%Y-%m-%d %H:%M:%S} UTC",
            err=True,
        )
    for name, result in (duty.deliveries if duty else {}).items():
        if result.reason is not None:
            click.echo(f"delivery {name} fails: {result.reason}", err=True)


def _state(item: AlertView) -> str:
    return "silenced" if item.silence is not None else str(item.alert.phase)


def _alert_payload(item: AlertView) -> dict[str, object]:
    alert = item.alert
    return {
        "rule": alert.rule,
        "labels": dict(alert.labels),
        "severity": alert.severity,
        "state": _state(item),
        "since": alert.since,
        "fired_at": alert.fired_at,
        "value": alert.value,
        "message": alert.message,
        "silence": item.silence.id if item.silence else None,
    }


def _past_payload(past: Past) -> dict[str, object]:
    return {
        "rule": past.rule,
        "labels": dict(past.labels),
        "severity": past.severity,
        "fired_at": past.fired_at,
        "resolved_at": past.resolved_at,
        "message": past.message,
    }
