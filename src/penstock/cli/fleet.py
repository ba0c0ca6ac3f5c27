"""`penstock list`, `penstock show` and `penstock logs`: how pipelines do, and what they told."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import click

from penstock.cli.lifecycle import detached_of, operator_of, pipeline_argument
from penstock.cli.lifecycle_views import log_line, overview_payload, print_list, print_overview
from penstock.cli.options import cluster_options, connection_of, json_option
from penstock.cli.projects import project_settings
from penstock.cli.rendering import show
from penstock.errors import UsageError
from penstock.names import PipelineName, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoLogError(UsageError):
    """This machine has no log of a pipeline of that name."""

    code = "PEN-963"

    def __init__(self, pipeline: str, *, known: Iterable[str]) -> None:
        close = nearest(pipeline, known)
        super().__init__(
            f"this machine has no log of a pipeline `{pipeline}`",
            hint=f"did you mean `{close}`?"
            if close
            else f"logs are where `penstock start` was called; `penstock show {pipeline}` names "
            "the machine of the driver",
        )


@click.command(name="list")
@cluster_options
@json_option
def list_command(*, bootstrap: str | None, profile: str | None, as_json: bool) -> None:
    """List the pipelines of the cluster, wherever they run, and how they do.

    \b
    Examples:
      penstock list
      penstock list --json | jq '.[] | select(.state != "running")'
    """
    settings = project_settings(None, profile, bootstrap=bootstrap)
    with operator_of(settings, connection_of(settings)) as operator:
        found = operator.list()
    show([overview_payload(item) for item in found], lambda: print_list(found), as_json=as_json)


@click.command(name="show")
@pipeline_argument
@cluster_options
@json_option
def show_command(
    *, pipeline: str, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Show how PIPELINE does: its driver, its keeper, each flow, and what went wrong last.

    \b
    Examples:
      penstock show shop
      penstock show shop --json | jq .state
    """
    settings = project_settings(None, profile, bootstrap=bootstrap)
    with operator_of(settings, connection_of(settings)) as operator:
        found = operator.show(PipelineName(pipeline))
    show(overview_payload(found), lambda: print_overview(found), as_json=as_json)


@click.command()
@pipeline_argument
@click.option("-n", "--lines", type=click.IntRange(0), default=50, help="How many; default: 50.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written; Ctrl-C ends it.")
@json_option
def logs(*, pipeline: str, lines: int, follow: bool, as_json: bool) -> None:
    """Print what the detached PIPELINE has told on this machine; times are in UTC.

    \b
    Examples:
      penstock logs shop
      penstock logs shop -f -n 0
    """
    from penstock.local import follow_log, tail_log

    detached = detached_of(project_settings(None, None))
    found = detached.find(PipelineName(pipeline))
    if found is None:
        raise NoLogError(pipeline, known=[item.pipeline for item in detached.all()])
    path, write = found.folder.log, partial(log_line, as_json=as_json)
    following = follow_log(path, count=lines, pause=lambda: time.sleep(0.2))
    try:
        for line in following if follow else tail_log(path, lines):
            click.echo(write(line))
    except KeyboardInterrupt:
        return
