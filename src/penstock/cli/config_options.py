"""Parameters that name configs and brokers: `KEY=VALUE`, `PARTITION=BROKERS`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from penstock.errors import UsageError
from penstock.names import BrokerId, Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import ConfigAlteration


class RepeatedConfigError(UsageError):
    """One command says two things about the same config."""

    code = "PEN-920"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"`{name}` is given twice",
            hint=f"set or unset `{name}` once",
        )


class _Setting(click.ParamType[tuple[str, str]]):
    """`KEY=VALUE`, spaces around either left out."""

    name = "key=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return key and value."""
        key, separator, setting = str(value).partition("=")
        if not separator or not key.strip():
            self.fail(f"{value!r} is not a config; write retention.ms=3600000", param, ctx)
        return key.strip(), setting.strip()


class _Assignment(click.ParamType[tuple[Partition, tuple[BrokerId, ...]]]):
    """`PARTITION=BROKER,BROKER`."""

    name = "partition=brokers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Partition, tuple[BrokerId, ...]]:
        """Return the partition and its brokers."""
        match = re.fullmatch(r"(\d+)=(\d+(?:,\d+)*)", str(value).replace(" ", ""))
        if match is None:
            self.fail(
                f"{value!r} is not an assignment; write 0=1,2,3: partition 0 on brokers 1, 2, 3",
                param,
                ctx,
            )
        brokers = tuple(BrokerId(int(broker)) for broker in match[2].split(","))
        return Partition(int(match[1])), brokers


SETTING = _Setting()
ASSIGNMENT = _Assignment()


def alterations(
    settings: Sequence[tuple[str, str]], removals: Sequence[str] = ()
) -> tuple[ConfigAlteration, ...]:
    """Return what `--set` and `--unset` ask for.

    Raises:
        RepeatedConfigError: a key is given twice.
    """
    from penstock.kafka import ConfigAlteration

    names = [*(name for name, _ in settings), *removals]
    for name in names:
        if names.count(name) > 1:
            raise RepeatedConfigError(name)
    return (
        *(ConfigAlteration(name=name, value=value) for name, value in settings),
        *(ConfigAlteration(name=name, value=None) for name in removals),
    )
