"""`penstock schemas impact`: what a proposed schema would break, before it is registered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, connection_of, json_option
from penstock.cli.projects import (
    checking_driver,
    declarative_spec,
    declared_pipeline,
    pipeline_name,
    project_argument,
    project_folder,
    project_settings,
)
from penstock.cli.registry_access import registry_option
from penstock.cli.rendering import progress, show, table
from penstock.cli.schema_views import check_payload, print_checks
from penstock.names import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.control.impact import ColumnChange, FlowElsewhere, FlowImpact, Impact
    from penstock.settings import Settings


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@project_argument
@click.option("--subject", help="Whose schema it is; default: by its place in schemas/.")
@registry_option
@cluster_options
@json_option
def impact(
    *,
    file: Path,
    project: Path | None,
    subject: str | None,
    registry_url: str | None,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Tell what a proposed schema would break, before it is registered.

    Each flow of the project that reads or writes the subject is analyzed with the schema of today
    and with that of FILE: which columns it uses, whether it still runs, and whether its result has
    the same types. Of other pipelines of the cluster it tells which columns of the subject they
    use. Changes nothing. Exit status 1 when a flow would break.

    PROJECT is a folder; default: that of the nearest penstock.toml, else this one.

    \b
      penstock schemas impact schemas/orders-value.avsc
      penstock schemas impact draft.avsc --subject orders-value --json
    """
    settings = project_settings(project, profile, bootstrap=bootstrap)
    if registry_url is not None:
        settings = replace(settings, registry=replace(settings.registry, url=registry_url))
    found = _found(file, Subject(subject) if subject else None, project, settings)
    show(_payload(found), lambda: _print(found), as_json=as_json)
    _fail(found, as_json=as_json)


def _found(file: Path, subject: Subject | None, project: Path | None, settings: Settings) -> Impact:
    from penstock.control.proposals import impact_of, load_proposal, look_around
    from penstock.control.registry import registry_of
    from penstock.registry.project import FOLDER

    folder = project_folder(project, settings) / FOLDER
    proposal = load_proposal(file, subject, folder=folder)
    # Mistakes in a project are told at once; one that Spark has to load must wait for it.
    is_declarative = declarative_spec(project, settings) is not None
    loaded = None if is_declarative else declared_pipeline(project, settings)
    with progress() as emit:
        known = look_around(proposal, settings, lambda: connection_of(settings), emit)
    with checking_driver(settings, pipeline_name(project, settings)) as driver:
        pipeline = loaded or declared_pipeline(project, settings, session=driver.session)
        return impact_of(proposal, pipeline, driver.session(), known, lambda: registry_of(settings))


def _fail(found: Impact, *, as_json: bool) -> None:
    """Leave with status 1 if a flow would break."""
    from penstock.control.impact import FlowsWouldBreakError

    if not found.broken:
        return
    if not as_json:
        raise FlowsWouldBreakError(found.subject, found.broken)
    click.get_current_context().exit(1)  # an error would be a second document


def _payload(found: Impact) -> dict[str, object]:
    return {
        "subject": found.subject,
        "file": found.file,
        "breaks": list(found.broken),
        "flows": [_flow_payload(item) for item in found.flows],
        "elsewhere": [_elsewhere_payload(item) for item in found.elsewhere],
        "registry": check_payload(found.check) if found.check else None,
        "unknown": list(found.unknown),
    }


def _flow_payload(item: FlowImpact) -> dict[str, object]:
    return {
        "flow": item.flow,
        "reads": list(item.read),
        "writes": list(item.written),
        "uses": dict(item.uses),
        "verdict": item.verdict,
        "changes": [_change_payload(change) for change in item.changes],
        "problems": [problem.as_dict() for problem in item.problems],
    }


def _elsewhere_payload(item: FlowElsewhere) -> dict[str, object]:
    return {
        "pipeline": item.pipeline,
        "state": item.state,
        "code_version": item.code_version,
        "flow": item.flow,
        "topic": item.topic,
        "uses": dict(item.uses),
        "verdict": item.verdict,
        "changes": [_change_payload(change) for change in item.changes],
    }


def _change_payload(change: ColumnChange) -> dict[str, object]:
    return {"column": change.column, "old": change.old, "new": change.new}


def _print(found: Impact) -> None:
    if found.flows:
        rows = [
            [item.flow, _role(item), _names(item.uses), item.verdict, _told(item.changes)]
            for item in found.flows
        ]
        table(["flow", "subject", "uses", "verdict", "result"], rows)
    else:
        click.echo(f"no flow of this project reads or writes `{found.subject}`")
    for item in found.flows:
        for problem in item.problems:
            click.echo(f"{item.flow}: [{problem.code}] {problem.message}")
            if problem.origin:
                click.echo(f"  at {problem.origin}")
    _print_elsewhere(found.elsewhere)
    if found.check is not None:
        click.echo()
        print_checks([found.check])
    for line in found.unknown:
        click.echo(line, err=True)


def _print_elsewhere(elsewhere: Sequence[FlowElsewhere]) -> None:
    if not elsewhere:
        return
    click.echo()
    rows = [
        [item.pipeline, item.flow, item.state, item.code_version, _names(item.uses), item.verdict]
        for item in elsewhere
    ]
    table(["pipeline", "flow", "state", "code", "uses", "verdict"], rows)
    for item in elsewhere:
        for change in item.changes:
            click.echo(f"{item.pipeline}/{item.flow} uses {_missed(change)}")


def _missed(change: ColumnChange) -> str:
    if change.new is None:
        return f"`{change.column}`, which the proposed schema does not have"
    return f"`{change.column}` as `{change.old}`, and the proposed schema has it as `{change.new}`"


def _role(item: FlowImpact) -> str:
    roles = [role for role, topics in (("reads", item.read), ("writes", item.written)) if topics]
    return " and ".join(roles) or "by a table"


def _names(columns: Mapping[str, str]) -> str | None:
    return ", ".join(columns) or None


def _told(changes: Sequence[ColumnChange]) -> str | None:
    return "; ".join(str(change) for change in changes) or None
