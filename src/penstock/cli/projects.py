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
    from penstock.pipeline import load_pipeline
    from penstock.settings import load_settings

    overrides = {"profile": profile, "bootstrap": bootstrap}
    settings = load_settings(overrides, start=(project or Path.cwd()).absolute())
    folder = project_folder(project, settings)
    name = settings.pipeline.name or name_after(folder)
    return settings, load_pipeline(folder, name=name, files=settings.pipeline.files)


def project_folder(project: Path | None, settings: Settings) -> Path:
    """Return the folder in which the files of the project are looked for."""
    if project is not None:
        return project.absolute()
    return settings.file.parent if settings.file else Path.cwd()


def name_after(folder: Path) -> PipelineName:
    """Return the name of `folder` with all that a pipeline's name cannot have left out."""
    plain = re.sub(r"[^a-z0-9_]+", "-", folder.resolve().name.lower()).lstrip("-_0123456789")
    return PipelineName(plain.rstrip("-")[:_LONGEST_NAME] or "pipeline")
