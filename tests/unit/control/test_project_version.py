"""The version of a project's code: a hash that all machines agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control import code_version

if TYPE_CHECKING:
    from pathlib import Path

FILES = ("flows.py", "flows/**/*.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return written(tmp_path / "one")


def written(folder: Path) -> Path:
    (folder / "flows").mkdir(parents=True)
    (folder / "flows" / "clean.py").write_text("a = 1\n")
    (folder / "penstock.toml").write_text('[pipeline]\nname = "shop"\n')
    return folder


def test_the_same_project_has_the_same_version_anywhere(project: Path, tmp_path: Path) -> None:
    version = code_version(project, FILES)

    assert version == code_version(written(tmp_path / "two"), FILES)
    assert version == "95f668405d13"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("flows/clean.py", "a = 2\n"),
        ("flows/more.py", ""),
        ("flows.py", "a = 1\n"),
        ("penstock.toml", ""),
    ],
)
def test_another_declaration_or_setting_is_another_version(
    project: Path, file: str, text: str
) -> None:
    before = code_version(project, FILES)

    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text(text)

    assert code_version(project, FILES) != before


def test_data_and_caches_are_no_code(project: Path) -> None:
    before = code_version(project, FILES)

    for name in ("flows/__pycache__/clean.pyc", "data/orders.json", "README.md"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("anything")

    assert code_version(project, FILES) == before


def test_where_one_file_ends_and_the_next_begins_matters(project: Path) -> None:
    (project / "flows" / "b.py").write_text("x")
    before = code_version(project, FILES)

    (project / "flows" / "b.py").unlink()
    (project / "flows" / "bx.py").write_text("")

    assert code_version(project, FILES) != before
