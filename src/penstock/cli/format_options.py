"""The options of `produce` and `consume` that choose registry formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.registry_access import registry_option

if TYPE_CHECKING:
    from penstock.cli.options import Command

_FORMATS = ["avro", "json-schema", "protobuf"]


def format_options(command: Command) -> Command:
    """Add `--key-format`, `--value-format` and `--registry`."""
    command = registry_option(command)
    for side in ("value", "key"):
        command = click.option(
            f"--{side}-format",
            type=click.Choice(_FORMATS),
            help=f"The {side}s are this in Kafka, with schemas of the registry, and JSON here.",
        )(command)
    return command


def schema_options(command: Command) -> Command:
    """Add `--key-schema` and `--value-schema`."""
    for side in ("value", "key"):
        command = click.option(
            f"--{side}-schema",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help=f"Register this as TOPIC-{side}, and write with it. Default: the latest one.",
        )(command)
    return command
