"""A package: one archive with all that a pipeline needs on machines that have only Spark.

    manifest.json     code version, and the versions of Python, Spark, packages and jars
    launch.py         what Spark runs as the driver in cluster mode
    project/          the files of the project
    packages/         Penstock, what `requirements.txt` names, and what they import
    jars/             the connectors: Kafka, Delta, Avro

The same input gives the same bytes: entries are sorted and have no times, owners or paths of this
machine, so a package may be compared, cached and signed.
"""

from __future__ import annotations

import shutil
import stat
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.deployment.dependencies import find_dependencies
from penstock.deployment.errors import NoPackageError, NotWritableError
from penstock.deployment.manifest import (
    Manifest,
    parse_manifest,
    penstock_version,
    spark_version,
    this_platform,
    this_python,
)
from penstock.events import Emit, StepFinished, StepProgressed, StepStarted, ignore
from penstock.java import JarSet, ensure_jars, load_lock
from penstock.pipeline.project_files import code_version, project_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.deployment.dependencies import Dependency
    from penstock.names import PipelineName
    from penstock.settings import JavaSettings

MANIFEST, LAUNCHER = "manifest.json", "launch.py"
PROJECT, PACKAGES, JARS = "project", "packages", "jars"

PACKAGING = "packaging the project"

_LAUNCH = '''"""The driver of a package: the command line of Penstock."""

from penstock.cli.main import main

main()
'''

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can tell."""

_READABLE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3

_COMPRESSION = 1
"""Compiled libraries are most of it: level 6 takes three times as long for a tenth less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageContent:
    """What goes into a package."""

    manifest: Manifest
    project: Path
    dependencies: tuple[Dependency, ...]
    jars: tuple[Path, ...]

    def entries(self) -> list[tuple[str, Path | str]]:
        """Return the entries by name, sorted: a file to copy, or a text."""
        entries: dict[str, Path | str] = {MANIFEST: self.manifest.as_json(), LAUNCHER: _LAUNCH}
        for path in project_files(self.project):
            entries[f"{PROJECT}/{path.as_posix()}"] = self.project / path
        for item in self.dependencies:
            entries |= {f"{PACKAGES}/{name}": path for name, path in item.files}
        entries |= {f"{JARS}/{jar.name}": jar for jar in self.jars}
        return sorted(entries.items())


def package_project(
    project: Path,
    *,
    pipeline: PipelineName,
    output: Path,
    java: JavaSettings,
    emit: Emit = ignore,
) -> Manifest:
    """Write the package of the project in the folder to `output` and return its manifest.

    Raises:
        DependencyNotPackableError: something that it needs is not installed here.
        NotWritableError: the file cannot be written.
        PenstockError: the jars cannot be had.
    """
    dependencies = find_dependencies(project)
    jars = ensure_jars(JarSet.SPARK, java, emit)
    locked = load_lock(JarSet.SPARK)
    manifest = Manifest(
        pipeline=pipeline,
        code_version=code_version(project),
        penstock=penstock_version(),
        python=this_python(),
        platform=this_platform(),
        spark=spark_version(),
        packages={item.name: item.version for item in dependencies},
        jars={jar.coordinate.file.name: jar.sha256 for jar in locked},
    )
    content = PackageContent(
        manifest=manifest, project=project, dependencies=dependencies, jars=jars
    )
    write_package(content, output, emit)
    return manifest


def write_package(content: PackageContent, output: Path, emit: Emit = ignore) -> None:
    """Write the archive; a reader finds all of it or none.

    Raises:
        NotWritableError: the file cannot be written.
    """
    entries = [entry for entry in content.entries() if entry[1] != output]
    emit(StepStarted(step=PACKAGING))
    with _replacing(output) as scratch:
        with zipfile.ZipFile(
            scratch, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION
        ) as archive:
            for number, (name, source) in enumerate(entries):
                _add(archive, name, source)
                if number % 100 == 0:
                    emit(StepProgressed(step=PACKAGING, done=number, total=len(entries)))
        size = scratch.stat().st_size
    emit(StepFinished(step=PACKAGING, detail=f"{len(entries)} files, {size / 1e6:.1f} MB"))


def read_manifest(package: Path) -> Manifest:
    """Return what the package says of itself.

    Raises:
        NoPackageError: it is none.
    """
    try:
        with zipfile.ZipFile(package) as archive:
            text = archive.read(MANIFEST).decode()
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, OSError) as err:
        raise NoPackageError(package, reason=f"it has no `{MANIFEST}`") from err
    return parse_manifest(text, package)


def unpack(package: Path, folder: Path) -> None:
    """Unpack the package into `folder`, unless that is there: whoever finds it finds all of it."""
    if folder.is_dir():
        return
    with _replacing(folder) as scratch, zipfile.ZipFile(package) as archive:
        archive.extractall(scratch)


def jar_files(folder: Path) -> tuple[Path, ...]:
    """Return the jars of a package that was unpacked into `folder`."""
    return tuple(sorted((folder / JARS).glob("*.jar")))


def _add(archive: zipfile.ZipFile, name: str, source: Path | str) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr, entry.create_system = _READABLE, _UNIX
    entry.compress_type = zipfile.ZIP_DEFLATED
    if isinstance(source, str):
        archive.writestr(entry, source)
        return
    # Known beforehand, the size decides about the format of entries above 2 GB.
    entry.file_size = source.stat().st_size
    with source.open("rb") as file, archive.open(entry, "w") as target:
        shutil.copyfileobj(file, target)


@contextmanager
def _replacing(place: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes `place` when all is written."""
    scratch = place.with_name(f".{place.name}.{uuid4().hex[:8]}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
        scratch.replace(place)
    except OSError as err:
        if place.is_dir():
            return  # another process has unpacked it meanwhile
        raise NotWritableError(place, reason=err.strerror or str(err)) from err
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):  # mostly: it is in its place
            scratch.unlink()
