"""`penstock validate`: everything that is wrong with a project, before anything is started."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.projects import (
    checking_driver,
    declarative_spec,
    declared_pipeline,
    pipeline_name,
    project_argument,
    project_settings,
)
from penstock.cli.rendering import show

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.engine import SparkDriver
    from penstock.pipeline import Pipeline
    from penstock.settings import Settings


@click.command()
@project_argument
@click.option("--fast", is_flag=True, help="Only the declarations: under a second.")
@click.option("--profile", metavar="NAME", help="Profile of penstock.toml to use.")
@json_option
def validate(*, project: Path | None, fast: bool, profile: str | None, as_json: bool) -> None:
    """Check a project: first its declarations, then each flow as Spark would run it.

    Kafka is not contacted, and nothing is changed; a registry is asked for schemas that are not
    in files. All problems of a step are shown together, each with its line. Exit status 2 when
    there are any.

    PROJECT is a folder; default: that of the nearest penstock.toml, else this one.

    \b
      penstock validate
      penstock validate shop --fast
      penstock validate --json | jq .error.problems
    """
    settings = project_settings(project, profile)
    if fast:
        pipeline = declared_pipeline(project, settings)
    elif declarative_spec(project, settings) is not None:
        name = pipeline_name(project, settings)
        with checking_driver(settings, name) as driver:  # one Spark for loading and for analyzing
            pipeline = declared_pipeline(project, settings, session=driver.session)
            _analyze(pipeline, settings, driver)
    else:
        pipeline = declared_pipeline(project, settings)
        with checking_driver(settings, pipeline.name) as driver:
            _analyze(pipeline, settings, driver)
    show(_payload(pipeline, fast=fast), lambda: _print(pipeline, fast=fast), as_json=as_json)


def _analyze(pipeline: Pipeline, settings: Settings, driver: SparkDriver) -> None:
    """Let Spark analyze the flows.

    Raises:
        InvalidPipelineError: it found problems.
    """
    from penstock.control.registry import contracts_of
    from penstock.engine.analysis import analyze
    from penstock.pipeline import InvalidPipelineError

    session = driver.session()
    with closing(contracts_of(pipeline, settings, session)) as contracts:
        problems = analyze(pipeline, session, contracts=contracts)
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
