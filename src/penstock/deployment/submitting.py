"""Submitting a package: the driver here, or on the cluster by Spark's own `spark-submit`.

Either way executors unpack the archive and import from it, so they run the code of the driver,
whatever is installed on their machines.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.deployment.errors import (
    ClusterSettingMissingError,
    NoClusterModeError,
    PackageMismatchError,
    SettingTakenError,
    SubmitFailedError,
)
from penstock.deployment.package import (
    LAUNCHER,
    PACKAGES,
    PROJECT,
    jar_files,
    read_manifest,
    unpack,
)
from penstock.engine.driver import build_properties, spark_home
from penstock.engine.masters import is_on_this_machine
from penstock.engine.spark_settings import session_conf, session_settings, session_shape
from penstock.events import Emit, StepFinished, StepStarted, ignore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.deployment.manifest import Manifest
    from penstock.java import Java
    from penstock.settings import Settings

FOLDER = "penstock_package"
"""Where executors, and drivers on a cluster, find the package unpacked."""

PYTHON_PATH = f"{FOLDER}/{PACKAGES}:{FOLDER}/{PROJECT}"
_DEFAULTS = "spark-defaults.conf"
_PYTHON_PATH_KEY = "spark.executorEnv.PYTHONPATH"
_SHIPPING = ("spark.archives", _PYTHON_PATH_KEY)

_IMAGE = "spark.kubernetes.container.image"
_UPLOAD_PATH = "spark.kubernetes.file.upload.path"
_KUBERNETES_NEEDS = {
    _IMAGE: "the container image of driver and executors",
    _UPLOAD_PATH: "a place for the package that the cluster reads, such as `s3a://bucket/packages`",
}


class Mode(StrEnum):
    """Where the driver runs."""

    CLIENT = "client"
    """Here, as long as this command."""

    CLUSTER = "cluster"
    """On a machine of the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedPackage:
    """A package, and the folder of this machine where its content is."""

    archive: Path
    folder: Path
    manifest: Manifest

    @property
    def project(self) -> Path:
        """The folder of the project."""
        return self.folder / PROJECT

    @property
    def packages(self) -> Path:
        """The folder from which it imports."""
        return self.folder / PACKAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitCommand:
    """A command line, the variables that go with it, and a file of settings, kept from `ps`."""

    master: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    properties: Mapping[str, str]


def open_package(archive: Path, below: Path) -> UnpackedPackage:
    """Unpack a package in a folder of its own below `below`, and return what it is.

    Raises:
        NoPackageError: it is none.
        NotWritableError: it cannot be unpacked there.
    """
    archive = archive.absolute()
    manifest = read_manifest(archive)
    with archive.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    folder = below / f"{manifest.pipeline}-{content}"
    unpack(archive, folder)
    return UnpackedPackage(archive=archive, folder=folder, manifest=manifest)


def client_command(
    package: UnpackedPackage, settings: Settings, run_arguments: Sequence[str]
) -> SubmitCommand:
    """Return how to run the driver of `package` in this environment.

    Spark reads the settings that bring the package to the executors as its defaults, from a folder
    that takes the place of the user's own, whose files are copied into it.

    Raises:
        PackageMismatchError: it was made for another Python, Spark or platform.
        SettingTakenError: the profile sets what only the package can.
    """
    differences = package.manifest.differences()
    if differences:
        raise PackageMismatchError(package.archive, differences)
    path = os.environ.get("PYTHONPATH")
    return SubmitCommand(
        master=session_shape(settings.spark).master,
        arguments=(sys.executable, str(package.folder / LAUNCHER), *run_arguments),
        environment={
            "PYTHONPATH": os.pathsep.join([str(package.packages), *([path] if path else [])]),
            "SPARK_CONF_DIR": str(package.folder / "conf"),
        },
        properties=shipping_conf(package, settings),
    )


def shipping_conf(package: UnpackedPackage, settings: Settings) -> dict[str, str]:
    """Return the settings of Spark by which executors get the package and import from it."""
    for key in _SHIPPING:
        if key in settings.spark.conf:
            raise SettingTakenError(key)
    if is_on_this_machine(session_shape(settings.spark).master):
        return {_PYTHON_PATH_KEY: f"{package.packages}{os.pathsep}{package.project}"}
    conf = archive_conf(package.archive)
    # Our interpreter's path means nothing there; its version does.
    if "spark.pyspark.python" not in settings.spark.conf:
        conf["spark.pyspark.python"] = f"python{package.manifest.python}"
    return conf


def archive_conf(archive: Path) -> dict[str, str]:
    """Return the settings by which executors elsewhere unpack `archive` and import from it."""
    return {"spark.archives": f"{archive}#{FOLDER}", _PYTHON_PATH_KEY: PYTHON_PATH}


def prepare_client(package: UnpackedPackage, command: SubmitCommand) -> None:
    """Write the folder of Spark's defaults that a driver here reads."""
    folder = package.folder / "conf"
    folder.mkdir(exist_ok=True)
    own = os.environ.get("SPARK_CONF_DIR")
    if own and Path(own).is_dir() and Path(own) != folder:
        shutil.copytree(own, folder, dirs_exist_ok=True)
    defaults = folder / _DEFAULTS
    before = defaults.read_text(encoding="utf-8") if own and defaults.exists() else ""
    defaults.write_text(f"{before}\n{build_properties(command.properties)}", encoding="utf-8")


def cluster_command(
    package: UnpackedPackage,
    settings: Settings,
    run_arguments: Sequence[str],
    *,
    java: Java,
    properties_file: Path,
) -> SubmitCommand:
    """Return how `spark-submit` is called so that the driver runs on the cluster.

    Args:
        package: what to run.
        settings: the profile's; its master decides how files and variables travel.
        run_arguments: those of `penstock`, for the driver.
        java: runs `spark-submit`.
        properties_file: where the settings will be.

    Raises:
        NoClusterModeError: the master runs no Python driver.
        ClusterSettingMissingError: the profile lacks what the master needs.
        SettingTakenError: the profile sets what only the package can.
    """
    shape = session_shape(settings.spark)
    if not shape.master.startswith(("yarn", "k8s://")):
        raise NoClusterModeError(shape.master)
    conf = session_conf(session_settings(shape)) | shipping_conf(package, settings)
    conf |= _manager_conf(shape.master, conf)
    return SubmitCommand(
        master=shape.master,
        arguments=(
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", shape.master, "--deploy-mode", Mode.CLUSTER.value),
            *("--name", package.manifest.pipeline),
            *("--properties-file", str(properties_file)),
            *("--jars", ",".join(str(jar) for jar in jar_files(package.folder))),
            str(package.folder / LAUNCHER),
            *run_arguments,
        ),
        environment={"JAVA_HOME": str(java.home), "SPARK_HOME": str(spark_home())},
        properties=conf,
    )


def submit_to_cluster(
    package: UnpackedPackage,
    command: SubmitCommand,
    *,
    properties_file: Path,
    log: Path,
    emit: Emit = ignore,
) -> None:
    """Run `spark-submit` and return when the cluster has accepted the driver.

    Raises:
        SubmitFailedError: it did not.
    """
    step = f"submitting `{package.manifest.pipeline}`"
    emit(StepStarted(step=step))
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(properties_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(build_properties(command.properties))
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            command.arguments,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=package.folder,
            check=False,
        )
    if done.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise SubmitFailedError(
            master=command.master,
            status=done.returncode,
            last_words=_complaint(lines),
            log=log,
        )
    emit(StepFinished(step=step))


def _manager_conf(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Return what YARN or Kubernetes need for a driver that imports from the package.

    The command does not wait for the end of a pipeline that has none.
    """
    python = conf["spark.pyspark.python"]
    if master == "yarn":
        return {
            "spark.yarn.appMasterEnv.PYTHONPATH": PYTHON_PATH,
            "spark.yarn.appMasterEnv.PYSPARK_PYTHON": python,
            "spark.yarn.submit.waitAppCompletion": "false",
        }
    for key, meaning in _KUBERNETES_NEEDS.items():
        if key not in conf:
            raise ClusterSettingMissingError(key, master=master, meaning=meaning)
    return {
        "spark.kubernetes.driverEnv.PYTHONPATH": PYTHON_PATH,
        "spark.kubernetes.driverEnv.PYSPARK_PYTHON": python,
        "spark.kubernetes.submission.waitAppCompletion": "false",
    }


def _complaint(lines: Sequence[str]) -> str:
    """Return the first line that names an exception, or the last line."""
    named = (line for line in lines if line.startswith("Exception in thread") or "Error:" in line)
    return next(named, lines[-1] if lines else "").strip()
