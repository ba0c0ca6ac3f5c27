"""`penstock schemas check|push|pull|diff`: the schemas of a project, and the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option, yes_option
from penstock.cli.registry_access import opened_registry, registry_options
from penstock.cli.rendering import confirm, progress, show
from penstock.cli.schema_views import (
    change_payload,
    check_payload,
    print_changes,
    print_checks,
    print_pulled,
    print_pushed,
    pulled_payload,
    pushed_payload,
)
from penstock.cli.trail import Deed, on_the_trail
from penstock.names import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.cli.registry_access import RegistryAccess
    from penstock.registry.project import FileCheck, FileGraph

_names_argument = click.argument("names", nargs=-1, metavar="[FILE|SUBJECT]...")


@click.command()
@_names_argument
@registry_options
@json_option
def check(
    *, names: tuple[str, ...], registry_url: str | None, profile: str | None, as_json: bool
) -> None:
    """Check the schemas of the project against the registry.

    Changes nothing. Made for the job of a pull request: the exit status is 1 when a schema cannot
    be parsed or is not compatible with what is registered, and each problem is listed with path,
    kind and reason. What a schema refers to is checked with it.

    \b
      penstock schemas check
      penstock schemas check schemas/orders-value.avsc --json
    """
    with opened_registry(registry_url, profile) as registry:
        _, checks = _checked(registry, names)
    _tell(checks, as_json=as_json)


@click.command()
@_names_argument
@click.option("--dry-run", is_flag=True, help="Show what would be registered, and stop.")
@registry_options
@json_option
def push(
    *,
    names: tuple[str, ...],
    dry_run: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Register the schemas of the project that are new or changed.

    All or, when one of them cannot be registered, none. Files may refer to each other (Avro by the
    names of types, JSON Schema by $ref, Protobuf by imports): each is registered after what it
    refers to.

    \b
      penstock schemas push --dry-run
      penstock schemas push orders-value
    """
    from penstock.registry.project import Finding
    from penstock.registry.project import push as push_files

    with opened_registry(registry_url, profile) as registry:
        graph, checks = _checked(registry, names)
        if dry_run or any(item.finding.is_problem for item in checks):
            return _tell(checks, as_json=as_json)
        changed = [item.file.subject for item in checks if item.finding is not Finding.UNCHANGED]
        deeds = {subject: Deed("register_schema", f"subject {subject}") for subject in changed}
        with on_the_trail(registry.settings, *deeds.values()) as did:
            with progress() as emit:
                pushed = push_files(registry.client, graph, checks, emit)
            for item in pushed:
                if item.finding is not Finding.UNCHANGED:
                    subject = item.file.subject
                    number = item.schema.id
                    did(deeds[subject], f"Registered for {subject} as schema {number}.")
    payload = [pushed_payload(item) for item in pushed]
    return show(payload, lambda: print_pushed(pushed), as_json=as_json)


@click.command()
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@yes_option
@registry_options
@json_option
def pull(
    *,
    subjects: tuple[str, ...],
    yes: bool,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Fetch the latest schemas into the project.

    They go to the folder schemas/; without subjects, all of them do. What a schema refers to is
    fetched with it. A file that means the same stays as it is; before others are overwritten, it
    asks.

    \b
      penstock schemas pull orders-value
      penstock schemas pull --yes
    """
    from penstock.registry.project import FileState, plan_pull, write_files

    with opened_registry(registry_url, profile) as registry:
        planned = plan_pull(registry.client, registry.folder, [Subject(item) for item in subjects])
    changed = [str(item.path) for item in planned if item.state is FileState.CHANGED]
    if changed:
        confirm(f"overwrite {', '.join(changed)}", yes=yes)
    write_files(planned)
    payload = [pulled_payload(item) for item in planned]
    show(payload, lambda: print_pulled(planned), as_json=as_json)


@click.command()
@click.argument("subject")
@click.argument("old", required=False)
@click.argument("new", required=False)
@registry_options
@json_option
def diff(
    *,
    subject: str,
    old: str | None,
    new: str | None,
    registry_url: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Show what changed between versions, or a version and a file.

    OLD and NEW are a version, `latest`, or a file. Without them: the latest version and the
    project's file. With one of them: a file is compared with the latest version, and the latest
    version with an older one.

    \b
      penstock schemas diff orders-value
      penstock schemas diff orders-value 1 3
      penstock schemas diff orders-value 2 order.avsc
    """
    from penstock.registry.project import compared_sides
    from penstock.schemas import differences

    with opened_registry(registry_url, profile) as registry:
        before, after = compared_sides(
            registry.client, Subject(subject), old, new, folder=registry.folder
        )
    found = differences(before.schema, after.schema)
    payload = {
        "subject": subject,
        "old": before.name,
        "new": after.name,
        "changes": [change_payload(item) for item in found],
    }
    show(payload, lambda: print_changes(before.name, after.name, found), as_json=as_json)


def _tell(checks: Sequence[FileCheck], *, as_json: bool) -> None:
    """Print what was found out, and fail if a schema cannot be registered."""
    from penstock.registry.project import ensure_registrable

    payload = [check_payload(item) for item in checks]
    show(payload, lambda: print_checks(checks), as_json=as_json)
    if not as_json:
        ensure_registrable(checks)
    elif any(item.finding.is_problem for item in checks):
        click.get_current_context().exit(1)  # an error would be a second document


def _checked(registry: RegistryAccess, names: tuple[str, ...]) -> tuple[FileGraph, list[FileCheck]]:
    from penstock.registry.project import check_files, chosen, graph_of, load_files

    files = load_files(registry.folder)
    graph = graph_of(files)
    with progress() as emit:
        return graph, check_files(registry.client, graph, chosen(files, names), emit)
