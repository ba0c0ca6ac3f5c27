"""What `penstock schemas` prints: for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import table
from penstock.schemas import pretty_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.registry.project import FileCheck, PulledFile, Pushed
    from penstock.schemas import Change, RegisteredSchema


def schema_payload(schema: RegisteredSchema) -> dict[str, object]:
    """Return a schema as JSON shows it."""
    return {
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.id,
        "type": schema.type,
        "references": [
            {"name": item.name, "subject": item.subject, "version": item.version}
            for item in schema.references
        ],
        "schema": schema.text,
    }


def print_schemas(schemas: Sequence[RegisteredSchema], deleted: frozenset[str] | None) -> None:
    """Print the latest version of subjects; `deleted` are those that were deleted softly."""
    columns = ["subject", "type", "version", "id"]
    rows: list[list[object]] = [
        [item.subject, item.type, item.version, item.id] for item in schemas
    ]
    if deleted is not None:
        columns.append("deleted")
        rows = [[*row, row[0] in deleted] for row in rows]
    table(columns, rows)


def print_schema(schema: RegisteredSchema) -> None:
    """Print the text of a schema, and what it is to stderr."""
    named = f"{schema.subject} version {schema.version}, " if schema.subject else ""
    click.echo(f"{named}id {schema.id}, {schema.type}", err=True)
    for item in schema.references:
        click.echo(f"{item.name} is {item.subject} version {item.version}", err=True)
    click.echo(pretty_text(schema.text))


def check_payload(check: FileCheck) -> dict[str, object]:
    """Return what was found out about a file as JSON shows it."""
    invalid = check.invalid
    return {
        "subject": check.file.subject,
        "file": check.file.path,
        "finding": check.finding,
        "level": check.level,
        "version": check.version,
        "incompatibilities": [
            {"kind": item.kind, "path": item.path, "message": item.message}
            for item in check.incompatibilities
        ],
        "invalid": None if invalid is None else {"path": invalid.path, "reason": invalid.reason},
    }


def print_checks(checks: Sequence[FileCheck]) -> None:
    """Print a line for each file, and below it what is wrong."""
    for check in checks:
        click.echo(f"{check.file.path}: {_finding(check)}")
        if check.invalid is not None:
            place = f"{check.invalid.path}  " if check.invalid.path else ""
            click.echo(f"  {place}{check.invalid.reason}")
        for item in check.incompatibilities:
            click.echo(f"  {item.path}  {item.kind}")
            click.echo(f"    {item.message}")


def _finding(check: FileCheck) -> str:
    finding = click.style(check.finding, fg="red") if check.finding.is_problem else check.finding
    if check.version is not None:
        return f"{finding}, version {check.version}"
    return f"{finding} ({check.level})" if check.level is not None else str(finding)


def pushed_payload(pushed: Pushed) -> dict[str, object]:
    """Return a registered file as JSON shows it."""
    return {
        "subject": pushed.file.subject,
        "file": pushed.file.path,
        "finding": pushed.finding,
        "version": pushed.schema.version,
        "id": pushed.schema.id,
    }


def print_pushed(pushed: Sequence[Pushed]) -> None:
    """Print what became of each file."""
    table(
        ["file", "subject", "version", "id", "was"],
        [
            [item.file.path, item.file.subject, item.schema.version, item.schema.id, item.finding]
            for item in pushed
        ],
    )


def pulled_payload(item: PulledFile) -> dict[str, object]:
    """Return a fetched file as JSON shows it."""
    return {
        "subject": item.schema.subject,
        "version": item.schema.version,
        "file": item.path,
        "state": item.state,
    }


def print_pulled(pulled: Sequence[PulledFile]) -> None:
    """Print what becomes of each file."""
    table(
        ["file", "subject", "version", "state"],
        [[item.path, item.schema.subject, item.schema.version, item.state] for item in pulled],
    )


def change_payload(change: Change) -> dict[str, object]:
    """Return a difference as JSON shows it."""
    return {"kind": change.kind, "path": change.path, "message": change.message}


def print_changes(old: str, new: str, found: Sequence[Change]) -> None:
    """Print what changed, one line each."""
    click.echo(f"{old} → {new}", err=True)
    if not found:
        click.echo("no differences", err=True)
    for change in found:
        click.echo(str(change))
