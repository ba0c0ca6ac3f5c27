"""`penstock audit`: whether each record that a pipeline has read is accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.lifecycle import pipeline_argument
from penstock.cli.options import TIME, cluster_options, connection_of, json_option
from penstock.cli.projects import project_settings
from penstock.cli.rendering import show
from penstock.names import PipelineName

if TYPE_CHECKING:
    from datetime import datetime

_DOES_NOT_ADD_UP = 1


@click.command()
@pipeline_argument
@click.option(
    "--from",
    "since",
    type=TIME,
    metavar="TIME",
    help="Batches that ended then or later: 2026-05-01T12:00:00Z, epoch milliseconds, or 6h ago. "
    "Default: all in the history.",
)
@click.option("--to", type=TIME, metavar="TIME", help="Batches that ended then or earlier.")
@click.option("--batches", "by_batch", is_flag=True, help="Show each batch.")
@click.option("--deep", is_flag=True, help="Read the output topics, and compare contents too.")
@cluster_options
@json_option
def audit(
    *,
    pipeline: str,
    since: datetime | None,
    to: datetime | None,
    by_batch: bool,
    deep: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Prove what became of the records that PIPELINE has read, from what its batches noted.

    Compares, flow by flow: the offsets of each batch with those of the one before; what was read
    with what these can hold; what the flow returned with what is written; undecodable records with
    dead letters; all of it with the ledger of what is written exactly once. It may run while the
    pipeline does. The status is 1 when something does not add up.

    \b
    Examples:
      penstock audit shop
      penstock audit shop --from 6h --batches
      penstock audit shop --deep
      penstock audit shop --json | jq .findings
    """
    from penstock.cli.audit_views import audit_payload, print_audit
    from penstock.control.auditing import audit as audited

    settings = project_settings(None, profile, bootstrap=bootstrap)
    found = audited(connection_of(settings), PipelineName(pipeline), since=since, to=to, deep=deep)
    show(
        audit_payload(found, by_batch=by_batch),
        lambda: print_audit(found, by_batch=by_batch),
        as_json=as_json,
    )
    if found.findings:
        raise SystemExit(_DOES_NOT_ADD_UP)
