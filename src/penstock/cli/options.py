"""Options that commands share: the cluster, `--json`, `--yes`, and parameter types for time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from penstock.names import Offset

if TYPE_CHECKING:
    from penstock.kafka import Connection, StartingPoint
    from penstock.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask; needed without a terminal.")


def cluster_options(command: Command) -> Command:
    """Add `--bootstrap` and `--profile`, which choose the cluster a command talks to."""
    command = click.option(
        "--profile", metavar="NAME", help="Profile of penstock.toml that names the cluster."
    )(command)
    return click.option(
        "--bootstrap",
        metavar="HOST:PORT,…",
        help="Brokers to ask first. Default: the profile's, else the local platform.",
    )(command)


def connect(bootstrap: str | None, profile: str | None) -> Connection:
    """Return the connection that the options, the environment and the file lead to."""
    return connection_of(cluster_settings(bootstrap, profile))


def cluster_settings(bootstrap: str | None, profile: str | None) -> Settings:
    """Return the settings that the options, the environment and the file lead to."""
    from penstock.settings import load_settings

    return load_settings({"bootstrap": bootstrap, "profile": profile})


def connection_of(settings: Settings) -> Connection:
    """Return the connection that `settings` lead to; without brokers, the local platform's."""
    from penstock.kafka import Connection
    from penstock.local import bootstrap_of

    return Connection(
        bootstrap=settings.cluster.bootstrap or bootstrap_of(settings.platform),
        security=settings.cluster,
    )


class _Time(click.ParamType[datetime]):
    """A moment: ISO-8601, epoch milliseconds, or a span ago such as `6h`."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the moment that `value` names."""
        if isinstance(value, datetime):
            return value
        from penstock.pipeline import parse_moment

        try:
            return parse_moment(str(value).strip().removesuffix(" ago"))
        except (ValueError, OverflowError, OSError):
            # Beside nonsense: years that no calendar has, such as nanoseconds taken for millis.
            self.fail(
                f"{value!r} is not a time; write 2026-05-01T12:00:00Z, epoch milliseconds or 6h",
                param,
                ctx,
            )


class _Span(click.ParamType[timedelta]):
    """A length of time: `500ms`, `30s`, `10m`, `6h`, `7d`; a bare number is seconds."""

    name = "span"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the length of time that `value` names."""
        if isinstance(value, timedelta):
            return value
        from penstock.pipeline import parse_span

        text = str(value).strip()
        span = parse_span(f"{text}s" if re.fullmatch(r"\d+(\.\d+)?", text) else text)
        if span is None:
            self.fail(f"{value!r} is not a length of time; write 30s, 10m, 6h or 7d", param, ctx)
        return span


TIME = _Time()
SPAN = _Span()


class _Place(click.ParamType["StartingPoint"]):
    """A place in topics: `beginning`, `end`, `offset:N` or a time."""

    name = "where"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> StartingPoint:
        """Return the place that `value` names."""
        from penstock.kafka import FromBeginning, FromEnd, FromOffset, FromTime

        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # click converts defaults a second time
        if value in ("beginning", "end"):
            return FromBeginning() if value == "beginning" else FromEnd()
        if match := re.fullmatch(r"offset:(\d+)", value):
            return FromOffset(Offset(int(match[1])))
        try:
            return FromTime(TIME.convert(value, param, ctx))
        except click.BadParameter:
            self.fail(
                f"{value!r} is no place in a topic; write beginning, end, offset:120, 6h or "
                "2026-05-01T12:00:00Z",
                param,
                ctx,
            )


PLACE = _Place()


def entered_password() -> str:
    """Return a new password: asked for twice, or without a terminal the first line of stdin."""
    if sys.stdin.isatty():
        password = str(
            click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        )
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        reason = "the password is empty"
        raise click.UsageError(reason)
    return password
