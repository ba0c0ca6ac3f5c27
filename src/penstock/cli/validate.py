"""`penstock validate`: everything that is wrong with a project, before anything is started."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.projects import load_project, project_argument
from penstock.cli.rendering import progress, show

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline import Pipeline
    from penstock.settings import Settings

# One slot: nothing is computed, and a cluster that runs pipelines is not asked for resources.
_MASTER = "local[1]"


@click.command()
@project_argument
@click.option("--fast", is_flag=True, help="Only the declarations: no Spark, under a second.")
@click.option("--profile", metavar="NAME", help="Profile of penstock.toml to use.")
@json_option
def validate(*, project: Path | None, fast: bool, profile: str | None, as_json: bool) -> None:
    """Check a project: first its declarations, then each flow as Spark would run it.

    Kafka is not contacted, and nothing is changed. All problems of a step are shown together,
    each with its line. Exit status 2 when there are any.

    PROJECT is a folder; default: that of the nearest penstock.toml, else this one.

    \b
      penstock validate
      penstock validate shop --fast
      penstock validate --json | jq .error.problems
    """
    settings, pipeline = load_project(project, profile)
    if not fast:
        _analyze(settings, pipeline)
    show(_payload(pipeline, fast=fast), lambda: _print(pipeline, fast=fast), as_json=as_json)


def _analyze(settings: Settings, pipeline: Pipeline) -> None:
    """Let Spark analyze the flows.

    Raises:
        InvalidPipelineError: it found problems.
    """
    from penstock.engine import Tuning, open_session, session_options
    from penstock.engine.analysis import analyze
    from penstock.pipeline import InvalidPipelineError

    options = session_options(
        settings,
        app_name=f"validate {pipeline.name}",
        log_file=settings.platform.data_dir / "logs" / f"validate-{pipeline.name}.log",
        tuning=Tuning.QUICK_START,
    )
    with progress() as emit, open_session(replace(options, master=_MASTER), emit=emit) as driver:
        problems = analyze(pipeline, driver.session())
    if problems:
        raise InvalidPipelineError(pipeline.name, problems)


def _payload(pipeline: Pipeline, *, fast: bool) -> dict[str, object]:
    from penstock.pipeline import kind_of

    return {
        "pipeline": pipeline.name,
        "folder": pipeline.folder,
        "checked": ["declarations"] if fast else ["declarations", "flows"],
        "datasets": [{"name": item.name, "kind": kind_of(item)} for item in pipeline.datasets],
        "flows": list(pipeline.flow_names()),
        "problems": [],
    }


def _print(pipeline: Pipeline, *, fast: bool) -> None:
    from penstock.pipeline import kind_of

    kinds = [kind_of(item) for item in pipeline.datasets]
    counted = [_counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds)]
    click.echo(f"pipeline `{pipeline.name}` is valid")
    click.echo(f"  declarations: {', '.join(counted)}, {_counted(len(pipeline.flows), 'flow')}")
    names = ", ".join(f"`{name}`" for name in pipeline.flow_names())
    click.echo(f"  flows: {'not analyzed (--fast)' if fast else f'analyzed by Spark: {names}'}")


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
