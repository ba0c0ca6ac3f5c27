"""How commands find a project: the folder, its settings, and the pipeline it declares."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.names import PipelineName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from penstock.engine import SparkDriver
    from penstock.pipeline import Pipeline, PipelineSpec
    from penstock.settings import Settings

_LONGEST_NAME = 100  # as in the settings

project_argument = click.argument(
    "project",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


def load_project(
    project: Path | None, profile: str | None, *, bootstrap: str | None = None
) -> tuple[Settings, Pipeline]:
    """Return the settings and the pipeline of a project; its files are imported.

    Args:
        project: the folder that was named on the command line; None: the folder of the nearest
            `penstock.toml`, else this one.
        profile: the profile that was named on the command line.
        bootstrap: the brokers that were named on the command line.

    Raises:
        UsageError: settings or declarations are wrong; `InvalidPipelineError` carries all problems
            of the declarations.
    """
    settings = project_settings(project, profile, bootstrap=bootstrap)
    return settings, declared_pipeline(project, settings)


def project_settings(
    project: Path | None, profile: str | None, *, bootstrap: str | None = None
) -> Settings:
    """Return the settings of a project; none of its files is imported."""
    from penstock.settings import load_settings

    overrides = {"profile": profile, "bootstrap": bootstrap}
    settings = load_settings(overrides, start=(project or Path.cwd()).absolute())
    spec = declarative_spec(project, settings)
    if spec is None:
        return settings
    conf = {**spec.spark_conf(), **settings.spark.conf}
    return replace(settings, spark=replace(settings.spark, conf=conf))


def declared_pipeline(
    project: Path | None,
    settings: Settings,
    *,
    session: Callable[[], SparkSession] | None = None,
) -> Pipeline:
    """Load the files of a project and return the pipeline that they declare.

    Args:
        project: the folder that was named on the command line.
        settings: the project's.
        session: gives the Spark that resolves the queries of a declarative pipeline; None: one
            is started for it.

    Raises:
        UsageError: the project cannot be loaded, or promises something of flows that it has not,
            or that is not measured of them.
    """
    from penstock.pipeline import check_levels

    pipeline = _loaded_pipeline(project, settings, session)
    check_levels(settings.pipeline.service_levels, pipeline.flows)
    return pipeline


def _loaded_pipeline(
    project: Path | None, settings: Settings, session: Callable[[], SparkSession] | None
) -> Pipeline:
    from penstock.pipeline import load_pipeline

    folder = project_folder(project, settings)
    name = pipeline_name(project, settings)
    spec = declarative_spec(project, settings)
    if spec is None:
        return load_pipeline(folder, name=name, files=settings.pipeline.files)
    from penstock.engine.sdp import load_declarative_pipeline

    files = settings.pipeline.files
    if session is not None:
        return load_declarative_pipeline(spec, session(), name=name, files=files)
    with checking_driver(settings, name) as driver:
        return load_declarative_pipeline(spec, driver.session(), name=name, files=files)


@contextmanager
def checking_driver(settings: Settings, name: PipelineName) -> Iterator[SparkDriver]:
    """Start a small Spark that analyzes flows; nothing is computed in it."""
    from penstock.cli.rendering import progress
    from penstock.engine import Tuning, open_session, session_options

    options = session_options(
        settings,
        app_name=f"validate {name}",
        log_file=settings.platform.data_dir / "logs" / f"validate-{name}.log",
        tuning=Tuning.QUICK_START,
    )
    # One slot, and on this machine: a cluster that runs pipelines is not asked for resources.
    local = replace(options, master="local[1]")
    with progress() as emit, open_session(local, emit=emit) as driver:
        yield driver


def declarative_spec(project: Path | None, settings: Settings) -> PipelineSpec | None:
    """Return the spec of a Spark Declarative Pipeline; None when the project is none.

    Raises:
        UsageError: it cannot be read.
    """
    from penstock.pipeline import find_spec, load_spec

    file = find_spec(project_folder(project, settings))
    return None if file is None else load_spec(file)


def project_files(project: Path | None, settings: Settings) -> tuple[str, ...]:
    """Return the patterns of all files that make the project."""
    spec = declarative_spec(project, settings)
    if spec is None:
        return settings.pipeline.files
    libraries = (library.glob for library in spec.libraries)
    return (*settings.pipeline.files, spec.file.name, *libraries)


def pipeline_name(project: Path | None, settings: Settings) -> PipelineName:
    """Return what the pipeline of a project is called."""
    if settings.pipeline.name is not None:
        return settings.pipeline.name
    spec = declarative_spec(project, settings)
    if spec is not None:
        return _as_name(spec.name)
    return name_after(project_folder(project, settings))


def project_folder(project: Path | None, settings: Settings) -> Path:
    """Return the folder in which the files of the project are looked for."""
    if project is not None:
        return project.absolute()
    return settings.file.parent if settings.file else Path.cwd()


def name_after(folder: Path) -> PipelineName:
    """Return the name of `folder` with all that a pipeline's name cannot have left out."""
    return _as_name(folder.resolve().name)


def _as_name(text: str) -> PipelineName:
    plain = re.sub(r"[^a-z0-9_]+", "-", text.lower()).lstrip("-_0123456789")
    return PipelineName(plain.rstrip("-")[:_LONGEST_NAME] or "pipeline")
