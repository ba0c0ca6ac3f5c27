"""`penstock doctor` as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.local.cluster import KafkaCluster

PENSTOCK = Path(sys.executable).with_name("penstock")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A new user: an empty home, and a platform of their own on any free port."""
    inherited = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    return inherited | {"HOME": str(tmp_path), "PENSTOCK_PLATFORM_PORT": "0"}


def run(
    environ: dict[str, str], *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PENSTOCK, "doctor", *arguments],
        env=environ,
        cwd=folder or environ["HOME"],
        capture_output=True,
        text=True,
        check=False,
    )


def levels(report: str) -> dict[str, str]:
    return {check["name"]: check["level"] for check in json.loads(report)["checks"]}


def test_a_reachable_cluster_is_ok_and_what_is_not_fetched_yet_only_a_warning(
    environ: dict[str, str], kafka: KafkaCluster
) -> None:
    done = run(environ, "--json", "--bootstrap", kafka.bootstrap)

    found = {check["name"]: check["found"] for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, done.stderr) == (0, "")
    assert (levels(done.stdout)["jars"], levels(done.stdout)["cluster"]) == ("warning", "ok")
    assert found["cluster"].startswith(f"1 broker at {kafka.bootstrap}, answered in ")


def test_without_a_platform_the_report_warns_and_says_how_to_start_one(
    environ: dict[str, str],
) -> None:
    done = run(environ)

    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[1] for line in lines if line[:1].isalpha()][:3] == [
        "python",
        "java",
        "jars",
    ]
    assert "warning  cluster     the local platform `local` is not running" in lines
    assert "`penstock up` starts it" in done.stdout


def test_problems_make_the_command_fail(environ: dict[str, str], tmp_path: Path) -> None:
    """No Java anywhere but a JAVA_HOME that leads nowhere, and a cluster that does not answer."""
    tools = tmp_path / "tools"
    tools.mkdir()
    variables = environ | {"PATH": str(tools), "JAVA_HOME": str(tmp_path / "nowhere")}
    # The wheel with Java, which may be installed here, needs a cache that this user cannot make.
    (tmp_path / "file").write_text("")
    variables["PENSTOCK_JAVA_CACHE_DIR"] = str(tmp_path / "file")

    done = run(variables, "--json", "--bootstrap", "127.0.0.1:1")

    problems = [name for name, level in levels(done.stdout).items() if level == "problem"]
    assert (done.returncode, done.stderr) == (1, "")
    assert problems == ["java", "cache disk", "cluster"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--profile", "nowhere"], "PEN-004"), (["--no-such-option"], "PEN-930")],
)
def test_wrong_input_is_one_sentence_and_status_2(
    environ: dict[str, str], arguments: list[str], code: str
) -> None:
    done = run(environ, *arguments)

    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)
    assert code in done.stderr
