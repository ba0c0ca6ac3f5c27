"""How commands find a project: the folder, its settings, and the pipeline it declares."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.names import PipelineName

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline
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
    return load_settings(overrides, start=(project or Path.cwd()).absolute())


def declared_pipeline(project: Path | None, settings: Settings) -> Pipeline:
    """Import the files of a project and return the pipeline that they declare."""
    from penstock.pipeline import load_pipeline

    folder = project_folder(project, settings)
    name = pipeline_name(project, settings)
    return load_pipeline(folder, name=name, files=settings.pipeline.files)


def pipeline_name(project: Path | None, settings: Settings) -> PipelineName:
    """Return what the pipeline of a project is called."""
    return settings.pipeline.name or name_after(project_folder(project, settings))


def project_folder(project: Path | None, settings: Settings) -> Path:
    """Return the folder in which the files of the project are looked for."""
    if project is not None:
        return project.absolute()
    return settings.file.parent if settings.file else Path.cwd()


def name_after(folder: Path) -> PipelineName:
    """Return the name of `folder` with all that a pipeline's name cannot have left out."""
    plain = re.sub(r"[^a-z0-9_]+", "-", folder.resolve().name.lower()).lstrip("-_0123456789")
    return PipelineName(plain.rstrip("-")[:_LONGEST_NAME] or "pipeline")
