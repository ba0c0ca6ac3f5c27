"""How commands find the schema registry and the schemas of a project."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.cli.options import Command
    from penstock.registry.client import RegistryClient
    from penstock.settings import Settings


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """A registry to ask, the folder of the project's schemas, and the settings of both."""

    client: RegistryClient
    folder: Path
    settings: Settings


def registry_options(command: Command) -> Command:
    """Add `--registry` and `--profile`, which choose the registry a command asks."""
    command = click.option(
        "--profile", metavar="NAME", help="Profile of penstock.toml that names the registry."
    )(command)
    return registry_option(command)


def registry_option(command: Command) -> Command:
    """Add `--registry`, for commands that have `--profile` already."""
    return click.option(
        "--registry",
        "registry_url",
        metavar="URL",
        help="The schema registry. Default: registry.url, else that of the local platform.",
    )(command)


@contextmanager
def opened_registry(registry_url: str | None, profile: str | None) -> Iterator[RegistryAccess]:
    """Yield the registry that the options, the environment and the file lead to."""
    from penstock.local import registry_address
    from penstock.registry.client import RegistryClient
    from penstock.settings import load_settings

    settings = load_settings({"registry.url": registry_url, "profile": profile})
    with RegistryClient(registry_address(settings)) as client:
        yield RegistryAccess(client, schema_folder(settings), settings)


def schema_folder(settings: Settings) -> Path:
    """Return the folder of the project's schemas, as a user would type it."""
    from penstock.registry.project import FOLDER

    root = settings.file.parent if settings.file else Path.cwd()
    here = Path.cwd()
    return (root.relative_to(here) if root.is_relative_to(here) else root) / FOLDER
