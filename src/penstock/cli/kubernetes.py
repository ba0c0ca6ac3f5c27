"""`penstock kubernetes`: the manifests and the Helm chart that run a pipeline on Kubernetes."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import json_option
from penstock.cli.projects import pipeline_name, project_argument, project_folder
from penstock.cli.rendering import show
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.deployment import DriverPod
    from penstock.settings import Settings

_IMAGE = re.compile(r"[a-z0-9][\w.:/@-]*")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

_EXECUTORS = "2"
"""What Spark starts when nobody says a number."""


class NoKafkaInProfileError(UsageError):
    """The profile names no brokers, and a pod has no local platform."""

    code = "PEN-971"

    def __init__(self, profile: str) -> None:
        super().__init__(
            f"profile `{profile}` names no Kafka, and a pod has no local platform",
            hint=f"set `bootstrap` in `[profiles.{profile}]` of `penstock.toml`, or name another "
            "profile with `--profile`",
        )


class KubernetesNameError(UsageError):
    """A container image or a namespace cannot be called so."""

    code = "PEN-972"

    def __init__(self, name: str, *, expected: str) -> None:
        super().__init__(
            f"`{name}` is not {expected}", hint="`penstock kubernetes --help` shows examples"
        )


@click.command()
@project_argument
@click.option("--image", required=True, metavar="NAME", help="Image with Penstock and the project.")
@click.option(
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to write to: `manifests` and `chart`.",
)
@click.option("--profile", metavar="NAME", help="Profile of penstock.toml that the driver uses.")
@click.option("--namespace", default="default", metavar="NAME", help="Default: `default`.")
@click.option(
    "--secret", metavar="NAME", help="Secret with the variables of the profile; default: PIPELINE."
)
@click.option("--once", is_flag=True, help="A Job that reads what is there, not a Deployment.")
@json_option
def kubernetes(
    *,
    project: Path | None,
    image: str,
    output: Path,
    profile: str | None,
    namespace: str,
    secret: str | None,
    once: bool,
    as_json: bool,
) -> None:
    """Write what runs the pipeline of PROJECT, a folder, on Kubernetes.

    Plain manifests for `kubectl apply -f`, and the same as a Helm chart. The driver is a Deployment
    of one pod, which starts the executors as pods of its own. Values that the profile takes from
    the environment come from a Secret, which you make; nothing secret is written.

    \b
    Examples:
      penstock kubernetes --image registry.example/shop:1 --output deploy --profile production
      penstock kubernetes shop --image shop:1 --output deploy --once
    """
    from penstock.deployment import DriverPod, object_name
    from penstock.deployment.kubernetes import MASTER
    from penstock.engine.masters import require_shared

    variables = _variables(project, profile)
    settings = _settings(project, profile, variables)
    name = object_name(pipeline_name(project, settings))
    pod = DriverPod(
        name=name,
        namespace=namespace,
        image=image,
        profile=settings.profile,
        secret=secret or name,
        variables=variables,
        executors=settings.spark.conf.get("spark.executor.instances", _EXECUTORS),
        driver_memory_mb=settings.spark.driver_memory_mb,
        once=once,
    )
    _check_names(image, namespace)
    require_shared(settings.spark, MASTER)
    files = _files(pod, project_folder(project, settings))
    _write(files, output)
    needs = f"; it needs the Secret `{pod.secret}` with {', '.join(variables)}" if variables else ""
    line = f"wrote {len(files)} files to {output}{needs}"
    payload = {"files": sorted(files), "secret": pod.secret, "variables": list(variables)}
    show(payload, lambda: click.echo(line), as_json=as_json)


def _check_names(image: str, namespace: str) -> None:
    if not _IMAGE.fullmatch(image):
        raise KubernetesNameError(image, expected="a container image: `registry/name:tag`")
    if not _NAMESPACE.fullmatch(namespace):
        expected = "a namespace: small letters, digits and dashes, 63 at most"
        raise KubernetesNameError(namespace, expected=expected)


def _variables(project: Path | None, profile: str | None) -> tuple[str, ...]:
    """Return the variables that the profile takes values from."""
    from penstock.deployment import referenced_variables
    from penstock.settings import find_settings_file

    path = find_settings_file((project or Path.cwd()).absolute())
    if path is None:
        return ()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return ()  # loading the settings says what is wrong with the file
    return referenced_variables(document, profile or document.get("profile", "local"))


def _settings(project: Path | None, profile: str | None, variables: tuple[str, ...]) -> Settings:
    """Return the settings as a pod will have them: from the file, and from the Secret.

    What stands behind `variables` need not be on this machine; what its own variables set does not
    travel.
    """
    from penstock.settings import load_settings

    here = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    environ = dict.fromkeys(variables, "from the Secret") | here
    start = (project or Path.cwd()).absolute()
    settings = load_settings({"profile": profile}, start=start, environ=environ)
    if settings.cluster.bootstrap is None:
        raise NoKafkaInProfileError(settings.profile)
    return settings


def _files(pod: DriverPod, project: Path) -> dict[str, str]:
    from penstock.deployment import chart_files, manifests, yaml_text
    from penstock.pipeline.project_files import code_version

    plain = {f"manifests/{name}": yaml_text(item) for name, item in manifests(pod).items()}
    chart = chart_files(pod, app_version=code_version(project))
    return plain | {f"chart/{name}": text for name, text in chart.items()}


def _write(files: Mapping[str, str], output: Path) -> None:
    from penstock.deployment.errors import NotWritableError

    try:
        for name, text in files.items():
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise NotWritableError(output, reason=err.strerror or str(err)) from err
