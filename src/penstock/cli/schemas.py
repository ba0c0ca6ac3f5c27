"""`penstock schemas`: what is registered, and changing it one subject at a time.

What works on the files of a project (`check`, `push`, `pull`, `diff`) is in `schemas_project.py`,
what a change would break in `schemas_impact.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option, yes_option
from penstock.cli.registry_access import opened_registry, registry_options
from penstock.cli.rendering import confirm, show
from penstock.cli.schema_views import print_schema, print_schemas, schema_payload
from penstock.cli.schemas_impact import impact
from penstock.cli.schemas_project import check, diff, pull, push
from penstock.cli.trail import Deed, on_the_trail
from penstock.errors import UsageError
from penstock.names import Subject

if TYPE_CHECKING:
    from penstock.registry.client import RegistryClient

_LEVELS = [
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
]
_MODES = ["READWRITE", "READONLY", "IMPORT"]


class SchemaOptionsError(UsageError):
    """Options of a `penstock schemas` command that do not go together."""

    code = "PEN-753"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(reason, hint=hint)


@click.group()
def schemas() -> None:
    """Schemas: list, show, register, check, compare, delete; levels and modes.

    \b
    For a project with schemas under version control:
      penstock schemas check                 in the job of a pull request
      penstock schemas impact FILE           which flows a change would break
      penstock schemas push --dry-run        what would be registered
      penstock schemas push
    """


for command in (check, diff, impact, push, pull):
    schemas.add_command(command)


@schemas.command(name="list")
@click.argument("pattern", required=False)
@click.option("--deleted", is_flag=True, help="Also subjects that were deleted softly.")
@registry_options
@json_option
def list_command(
    *,
    pattern: str | None,
    deleted: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """List subjects with their latest version.

    PATTERN is a shell pattern: * stands for any characters.

    \b
      penstock schemas list
      penstock schemas list 'orders*' --json
    """
    from fnmatch import fnmatchcase

    with opened_registry(registry_url, profile) as registry:
        found = registry.client.latest_schemas(deleted=deleted)
        live = registry.client.subjects() if deleted else []
    chosen = [item for item in found if pattern is None or fnmatchcase(item.subject or "", pattern)]
    gone = frozenset(item.subject or "" for item in chosen) - set(live) if deleted else None
    payload = [
        schema_payload(item) | ({} if gone is None else {"deleted": item.subject in gone})
        for item in chosen
    ]
    show(payload, lambda: print_schemas(chosen, gone), as_json=as_json)


@schemas.command(name="show")
@click.argument("subject", required=False)
@click.argument("version", required=False, type=click.IntRange(min=1))
@click.option("--id", "schema_id", type=click.IntRange(min=0), help="Instead: the schema of an id.")
@registry_options
@json_option
def show_command(
    *,
    subject: str | None,
    version: int | None,
    schema_id: int | None,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Print a schema, by subject and version or by id.

    \b
      penstock schemas show orders-value
      penstock schemas show orders-value 2
      penstock schemas show --id 17 --json
    """
    if (subject is None) == (schema_id is None):
        raise SchemaOptionsError(
            reason="name a subject or an id" + (", not both" if subject else ""),
            hint="`penstock schemas show orders-value`, or `penstock schemas show --id 17`",
        )
    with opened_registry(registry_url, profile) as registry:
        if schema_id is not None:
            found = registry.client.schema_by_id(schema_id)
        else:
            found = registry.client.version(Subject(str(subject)), version or "latest")
    show(schema_payload(found), lambda: print_schema(found), as_json=as_json)


@schemas.command()
@click.argument("subject")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--normalize", is_flag=True, help="Compare and keep it in its normal form.")
@registry_options
@json_option
def register(
    *,
    subject: str,
    file: Path,
    normalize: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Register a file as the next version of a subject.

    Its name ends in .avsc, .json or .proto. A schema that the subject already has keeps its
    version. A file of the project's schemas/ may refer to others of it that are registered;
    `penstock schemas push` registers all.

    \b
      penstock schemas register orders-value order.avsc
    """
    from penstock.registry.project import register_file

    deed = Deed("register_schema", f"subject {subject}")
    with (
        opened_registry(registry_url, profile) as registry,
        on_the_trail(registry.settings, deed) as did,
    ):
        found = register_file(
            registry.client, file, Subject(subject), folder=registry.folder, normalize=normalize
        )
        did(deed, f"Registered for {subject} as schema {found.id}.")
    line = f"{subject}: version {found.version}, id {found.id}"
    show(schema_payload(found), lambda: click.echo(line), as_json=as_json)


@schemas.command()
@click.argument("subject")
@click.argument("version", required=False, type=click.IntRange(min=1))
@click.option("--permanent", is_flag=True, help="For good: also what was deleted softly.")
@yes_option
@registry_options
@json_option
def delete(
    *,
    subject: str,
    version: int | None,
    permanent: bool,
    yes: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Delete a subject, or one version of it.

    A soft delete hides it and is undone by registering it again; records written with it can
    still be read. After a permanent one they cannot.

    \b
      penstock schemas delete orders-value 2
      penstock schemas delete orders-value --permanent --yes
    """
    name = Subject(subject)
    deed = (
        Deed("delete_subject", f"subject {name}")
        if version is None
        else Deed("delete_version", f"version {version} of subject {name}")
    )
    with (
        opened_registry(registry_url, profile) as registry,
        on_the_trail(registry.settings, deed) as did,
    ):
        known = registry.client.versions(name, deleted=permanent)
        versions = known if version is None else [version]
        what = f"subject `{name}`" if version is None else f"version {version} of `{name}`"
        how = " for good: records written with it cannot be read any more" if permanent else ""
        confirm(f"delete {what}{how}", yes=yes)
        _delete(registry.client, name, version, permanent=permanent)
        gone = f"Subject {name}" if version is None else f"Version {version} of {name}"
        did(deed, f"{gone} is deleted{' for good' if permanent else ''}.")
    payload = {"subject": name, "versions": versions, "permanent": permanent}
    show(payload, lambda: click.echo(f"deleted {what}", err=True), as_json=as_json)


def _delete(
    client: RegistryClient, subject: Subject, version: int | None, *, permanent: bool
) -> None:
    """Delete softly, and then for good if that is wanted: a registry takes no other order."""
    from penstock.registry.client import NotRegisteredError

    for for_good in (False, True) if permanent else (False,):
        try:
            if version is None:
                client.delete_subject(subject, permanent=for_good)
            else:
                client.delete_version(subject, version, permanent=for_good)
        except NotRegisteredError:
            if for_good or not permanent:
                raise


@schemas.command()
@click.argument("subject", required=False)
@click.option("--set", "level", type=click.Choice(_LEVELS, case_sensitive=False))
@click.option("--unset", is_flag=True, help="Let the registry's level count again.")
@registry_options
@json_option
def config(
    *,
    subject: str | None,
    level: str | None,
    unset: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Show or set compatibility levels.

    That of a subject, or without one, of the registry.

    \b
      penstock schemas config orders-value
      penstock schemas config orders-value --set FULL
      penstock schemas config --set BACKWARD_TRANSITIVE
    """
    from penstock.schemas import Level

    _refuse_both(level, unset=unset)
    name = Subject(subject) if subject else None
    deed, owner = Deed("set_level", _owner(name)), name or "the registry"
    deeds = [deed] if level is not None or unset else []
    with (
        opened_registry(registry_url, profile) as registry,
        on_the_trail(registry.settings, *deeds) as did,
    ):
        if level is not None:
            registry.client.set_level(name, Level(level))
            did(deed, f"The level of {owner} is {level}.")
        elif unset:
            registry.client.clear_level(name)
            did(deed, f"The level of {owner} was removed.")
        counts = registry.client.level(name)
    payload = {"subject": name, "compatibility": counts}
    show(payload, lambda: click.echo(counts), as_json=as_json)


@schemas.command()
@click.argument("subject", required=False)
@click.option("--set", "mode", type=click.Choice(_MODES, case_sensitive=False))
@click.option("--unset", is_flag=True, help="Let the registry's mode count again.")
@click.option("--force", is_flag=True, help="Set IMPORT although there are schemas.")
@registry_options
@json_option
def mode(
    *,
    subject: str | None,
    mode: str | None,
    unset: bool,
    force: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Show or set what a subject accepts; without one, the registry.

    READWRITE is the usual mode, READONLY refuses changes, IMPORT takes ids and versions as given.

    \b
      penstock schemas mode orders-value
      penstock schemas mode orders-value --set READONLY
    """
    from penstock.registry.client import Mode

    _refuse_both(mode, unset=unset)
    if unset and not subject:
        raise SchemaOptionsError(
            reason="the registry's own mode can be set, not removed",
            hint="`penstock schemas mode --set READWRITE`",
        )
    name = Subject(subject) if subject else None
    deed, owner = Deed("set_mode", _owner(name)), name or "the registry"
    deeds = [deed] if mode is not None or unset else []
    with (
        opened_registry(registry_url, profile) as registry,
        on_the_trail(registry.settings, *deeds) as did,
    ):
        if mode is not None:
            registry.client.set_mode(name, Mode(mode), force=force)
            did(deed, f"The mode of {owner} is {mode}.")
        elif unset and name is not None:
            registry.client.clear_mode(name)
            did(deed, f"The mode of {owner} was removed.")
        counts = registry.client.mode(name)
    payload = {"subject": name, "mode": counts}
    show(payload, lambda: click.echo(counts), as_json=as_json)


def _owner(subject: Subject | None) -> str:
    return f"subject {subject}" if subject else "the registry"


def _refuse_both(value: str | None, *, unset: bool) -> None:
    if value is not None and unset:
        raise SchemaOptionsError(
            reason="`--set` and `--unset` do not go together", hint="leave out one of them"
        )
