"""The environment that every `make` target works in: `.venv`, its packages, and what tests need.

    environment.py packages           create or renew `.venv` from the lock files
    environment.py system-packages    make sure that tests find a PostgreSQL server and Chromium

Runs before anything is installed, hence on the standard library alone.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".installed"

# The lines of pip that are worth a place on the screen: downloads that take a while.
LARGE_DOWNLOAD = re.compile(r"Downloading ([^-\s]+-[^-\s]+)\S* (\(\S+ MB\))")


def main() -> int:
    """Do what the first argument names."""
    steps = {"packages": install_packages, "system-packages": install_system_packages}
    try:
        steps[sys.argv[1]]()
    except KeyboardInterrupt:
        print("\nstopped; the next `make` goes on from here", file=sys.stderr)
        return 130
    return 0


def install_packages() -> None:
    """Bring `.venv` to what the lock files say; write the stamp that tells make so."""
    create_venv()
    pip("the packages of requirements.lock", "--require-hashes", "-r", "requirements.lock")
    # The build backend is in the lock, so installing the project itself downloads nothing.
    pip("penstock", "--no-deps", "--no-build-isolation", "--editable", ".")
    if not has_java():
        pip("a Java runtime", "--require-hashes", "-r", "requirements-java.lock")
    STAMP.touch()


def create_venv() -> None:
    """Create `.venv`, or keep the one that is there and works."""
    if VENV_PYTHON.exists() and quiet([str(VENV_PYTHON), "-m", "pip", "--version"]):
        return
    if not quiet([sys.executable, "-c", "import ensurepip, venv"]):
        version = ".".join(str(part) for part in sys.version_info[:2])
        install_system_package(f"python{version}-venv", needed_for="virtual environments")
    say(f"creating .venv with {sys.executable}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)


def pip(what: str, *arguments: str) -> None:
    """Install with pip, showing the downloads; repeat its whole output when it fails."""
    say(f"installing {what}")
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check"]
    process = subprocess.Popen(
        [*command, "--progress-bar", "off", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = []
    for line in process.stdout or ():
        output.append(line)
        if large := LARGE_DOWNLOAD.search(line):
            print(f"    {large[1]} {large[2]}", flush=True)
    if process.wait() != 0:
        sys.stderr.writelines(output[-40:])
        fail(
            f"pip could not install {what}; its last words are above",
            hint="check the network, or set PIP_INDEX_URL to the index you may use",
        )


def has_java() -> bool:
    """Ask Penstock, which is the one to decide whether a Java is good enough."""
    return quiet([str(VENV_PYTHON), "-c", "from penstock.java import find_java; find_java()"])


def install_system_packages() -> None:
    """Install what the tests need beside Python's packages, unless it is there."""
    if not (shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))):
        install_system_package("postgresql", needed_for="the tests")
    if not shutil.which("chromium"):
        install_system_package("chromium", needed_for="the tests of the console")


def install_system_package(package: str, *, needed_for: str) -> None:
    """Install a Debian package as root, or say what to install."""
    commands = [
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
    ]
    by_hand = f"sudo apt-get update && sudo apt-get install --no-install-recommends {package}"
    if not shutil.which("apt-get"):
        fail(f"{needed_for} need `{package}`", hint="install it the way your system does")
    if os.geteuid() != 0:
        fail(f"{needed_for} need `{package}`", hint=by_hand)
    say(f"installing the system package {package}")
    for command in commands:
        done = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            fail(f"`{' '.join(command)}` failed", hint=by_hand)


def quiet(command: list[str]) -> bool:
    """Return whether `command` succeeds; its output is dropped."""
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return done.returncode == 0


def fail(message: str, *, hint: str) -> NoReturn:
    """End with what the machine lacks and what its owner can do about it."""
    print(f"\nerror: {message}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def say(line: str) -> None:
    """Print a step at once, so that a slow one is seen while it runs."""
    print(f"==> {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
