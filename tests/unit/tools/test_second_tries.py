"""A failed test runs once more; that is told, and it is not enough for many, or for unit tests."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
UNSTEADY = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_unsteady(number):
    tried = Path(__file__).with_suffix(f".{{number}}")
    first = not tried.exists()
    tried.touch()
    assert not first, "the first try fails"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose tests may have second tries."""
    for tier in ("unit", "e2e"):
        (tmp_path / "tests" / tier).mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["support.second_tries"]\n')
    return tmp_path


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--second-tries", *options, "tests"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_a_few_second_tries_are_told_and_suffice(project: Path) -> None:
    (project / "tests/e2e/test_it.py").write_text(UNSTEADY.format(count=3))
    ran = run(project)

    assert ran.returncode == 0, ran.stdout
    assert "3 needed a second try, 3 may" in ran.stdout
    assert ran.stdout.count("AssertionError: the first try fails") == 3


def test_many_second_tries_are_a_failure(project: Path) -> None:
    (project / "tests/e2e/test_it.py").write_text(UNSTEADY.format(count=4))
    ran = run(project, "--numprocesses", "2")

    assert ran.returncode == 1, ran.stdout
    assert "4 needed a second try, 3 may" in ran.stdout


def test_what_fails_twice_has_failed(project: Path) -> None:
    (project / "tests/e2e/test_it.py").write_text("def test_wrong():\n    assert 1 == 2\n")
    ran = run(project)

    assert ran.returncode == 1
    assert "1 failed, 1 rerun" in ran.stdout


def test_unit_tests_have_no_second_try(project: Path) -> None:
    (project / "tests/unit/test_it.py").write_text(UNSTEADY.format(count=1))
    ran = run(project)

    assert ran.returncode == 1
    assert "1 failed in" in ran.stdout


def test_a_run_without_them_says_nothing(project: Path) -> None:
    (project / "tests/e2e/test_it.py").write_text("def test_right():\n    assert 1 == 1\n")
    ran = run(project)

    assert ran.returncode == 0
    assert "second try" not in ran.stdout
