"""`tools/lock.py --check` notices a lock that was made from other dependencies."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILES = ("pyproject.toml", "requirements.lock", "requirements-java.lock", "tools/lock.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the check reads."""
    (tmp_path / "tools").mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def check(project: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "tools" / "lock.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_locks_were_made_from_this_project(project: Path) -> None:
    checked = check(project)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_changed_dependency_makes_both_locks_outdated(project: Path) -> None:
    file = project / "pyproject.toml"
    file.write_text(file.read_text().replace('"rich>=13.9"', '"rich>=14"'))

    checked = check(project)

    assert (checked.returncode, checked.stderr) == (
        1,
        "not made from this pyproject.toml: requirements.lock, requirements-java.lock\n"
        "hint: `make lock` makes them anew\n",
    )


def test_locks_name_no_address() -> None:
    locks = [(ROOT / name).read_text() for name in FILES if name.endswith(".lock")]

    assert [lock for lock in locks if "://" in lock or "index" in lock] == []
