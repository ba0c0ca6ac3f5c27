"""`penstock package` and `penstock submit`: a project as one archive, and its run on a cluster."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.projects import (
    pipeline_name,
    project_argument,
    project_folder,
    project_settings,
)
from penstock.cli.rendering import human_bytes, progress, show
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.deployment import Manifest, UnpackedPackage
    from penstock.settings import Settings

PROFILE_HELP = "Profile of penstock.toml that names the Spark master and the Kafka cluster."


class CheckpointsInPackageError(UsageError):
    """The checkpoints would be in the folder of one version of the code, lost to the next."""

    code = "PEN-970"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"`spark.checkpoint_root` is `{location}`, inside of the unpacked package",
            hint="write it in `penstock.toml` as an absolute folder or a URI",
        )


@click.command()
@project_argument
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it. Default: NAME-VERSION.penstock.zip in this folder.",
)
@json_option
def package(*, project: Path | None, output: Path | None, as_json: bool) -> None:
    """Put PROJECT, a folder, and all that it needs beside Spark into one archive.

    That is its files, Penstock, what its `requirements.txt` names as it is installed here, and the
    jars. The same project in the same environment gives the same bytes. Hidden files such as `.env`
    and virtual environments stay out.

    \b
    Examples:
      penstock package
      penstock package shop --output build/shop.penstock.zip
    """
    settings = project_settings(project, None)
    path, manifest = _packaged(project, settings, output)
    size = path.stat().st_size
    payload = {
        "file": path,
        "bytes": size,
        "pipeline": manifest.pipeline,
        "code_version": manifest.code_version,
        "python": manifest.python,
        "platform": manifest.platform,
        "spark": manifest.spark,
        "packages": dict(manifest.packages),
        "jars": dict(manifest.jars),
    }
    line = f"wrote {path} ({human_bytes(size)}), code version {manifest.code_version}"
    show(payload, lambda: click.echo(line), as_json=as_json)


@click.command()
@click.argument("source", metavar="ARCHIVE|PROJECT", type=click.Path(exists=True, path_type=Path))
@click.option("--profile", metavar="NAME", help=PROFILE_HELP)
@click.option(
    "--mode",
    type=click.Choice(["client", "cluster"]),
    default="client",
    help="Where the driver runs: here, or on the cluster (YARN, Kubernetes). Default: client.",
)
@json_option
def submit(*, source: Path, profile: str | None, mode: str, as_json: bool) -> None:
    """Run a packaged pipeline on the Spark of a profile; a PROJECT, a folder, is packaged first.

    In client mode the driver runs here as with `penstock run`, until Ctrl-C. In cluster mode the
    command returns when the cluster has taken the driver.

    \b
    Examples:
      penstock submit shop-1f2e3d4c5b6a.penstock.zip --profile production
      penstock submit shop --profile production --mode cluster
    """
    from penstock.deployment import Mode, open_package

    below = project_settings(source if source.is_dir() else None, None).platform.data_dir
    archive = _archive(source, below / "packages")
    found = open_package(archive, below.absolute() / "packages")
    settings = project_settings(found.project, profile)
    if settings.spark.checkpoint_root.startswith(str(found.folder)):
        raise CheckpointsInPackageError(settings.spark.checkpoint_root)
    if Mode(mode) is Mode.CLIENT:
        _run_here(found, settings, profile, as_json=as_json)
    _submit(found, settings, profile, as_json=as_json)


def _archive(source: Path, below: Path) -> Path:
    """Return the archive that was named, or that of the folder that was named."""
    if source.is_file():
        return source
    settings = project_settings(source, None)
    name = pipeline_name(source, settings)
    path, _ = _packaged(source, settings, below / f"{name}.penstock.zip")
    return path


def _packaged(
    project: Path | None, settings: Settings, output: Path | None
) -> tuple[Path, Manifest]:
    from penstock.deployment import package_project
    from penstock.pipeline.project_files import PACKAGE_SUFFIX, code_version

    folder, name = project_folder(project, settings), pipeline_name(project, settings)
    path = output or Path(f"{name}-{code_version(folder)}{PACKAGE_SUFFIX}")
    with progress() as emit:
        manifest = package_project(
            folder, pipeline=name, output=path.absolute(), java=settings.java, emit=emit
        )
    return path, manifest


def _run_here(
    found: UnpackedPackage, settings: Settings, profile: str | None, *, as_json: bool
) -> None:
    from penstock.deployment import client_command, prepare_client

    command = client_command(
        found, settings, _run_arguments(found.project, profile, as_json=as_json)
    )
    prepare_client(found, command)
    sys.stdout.flush()
    # The driver takes the place of this process: signals and the exit status are its own.
    environment = {**os.environ, **command.environment}
    os.execve(command.arguments[0], command.arguments, environment)  # noqa: S606


def _submit(
    found: UnpackedPackage, settings: Settings, profile: str | None, *, as_json: bool
) -> None:
    from penstock.deployment import cluster_command, submit_to_cluster
    from penstock.deployment.submitting import FOLDER
    from penstock.java import find_java

    name = found.manifest.pipeline
    log = settings.platform.data_dir / "logs" / f"{name}-submit.log"
    with TemporaryDirectory(prefix="penstock-") as folder:
        properties = Path(folder) / "spark.properties"
        command = cluster_command(
            found,
            settings,
            _run_arguments(Path(FOLDER) / "project", profile, as_json=True),
            java=find_java(cache_dir=settings.java.cache_dir),
            properties_file=properties,
        )
        with progress() as emit:
            submit_to_cluster(found, command, properties_file=properties, log=log, emit=emit)
    payload = {"pipeline": name, "master": settings.spark.master, "log": log}
    line = f"`{name}` was taken by {settings.spark.master}; what `spark-submit` said is in {log}"
    show(payload, lambda: click.echo(line), as_json=as_json)


def _run_arguments(project: Path, profile: str | None, *, as_json: bool) -> list[str]:
    chosen = ["--profile", profile] if profile else []
    return ["run", str(project), *chosen, *(["--json"] if as_json else [])]
