"""The set-up refuses in one sentence what it cannot work with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def make_with(python: Path) -> subprocess.CompletedProcess[str]:
    # A make that runs the tests would hand down its own options.
    environment = {name: os.environ[name] for name in ("PATH", "HOME")}
    command = ["make", "--always-make", "--no-print-directory", f"PYTHON={python}", "setup"]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def old_python(tmp_path: Path) -> Path:
    """An interpreter that answers as Python 3.9 does."""
    script = tmp_path / "python3.9"
    script.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2 || exit 1\n')
    script.chmod(0o755)
    return script


def test_a_python_that_is_too_old_is_named_with_the_way_out(old_python: Path) -> None:
    refused = make_with(old_python)

    assert (refused.returncode, refused.stderr.splitlines()[:2]) == (
        2,
        [
            f"error: Penstock needs Python 3.11 or later; {old_python} is: Python 3.9.2",
            "hint: name a newer one, such as make PYTHON=python3.12 demo",
        ],
    )


def test_a_system_package_that_cannot_be_installed_is_named(tmp_path: Path) -> None:
    """There is a PostgreSQL; there is neither a Chromium nor a way to get one."""
    (tmp_path / "initdb").write_text("#!/bin/sh\n")
    (tmp_path / "initdb").chmod(0o755)

    refused = subprocess.run(
        [sys.executable, ROOT / "tools" / "environment.py", "system-packages"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (refused.returncode, refused.stderr) == (
        1,
        "\nerror: the tests of the console need `chromium`\n"
        "hint: install it the way your system does\n",
    )
