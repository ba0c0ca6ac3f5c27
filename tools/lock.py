"""The lock files: made from `pyproject.toml`, and checked against it without a network.

`requirements.lock` holds what Penstock and its developers need, `requirements-java.lock` the Java
runtime for machines that have none. Both name versions and hashes for every system and Python that
`pyproject.toml` allows, and no address: plain pip takes the files from whichever index it is set
up for. Their first line holds a digest of the tables they were made from.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROJECT_FILE = ROOT / "pyproject.toml"
LOCK_FILE = ROOT / "requirements.lock"
JAVA_LOCK_FILE = ROOT / "requirements-java.lock"


def main() -> int:
    """Write the lock files; `--upgrade` takes the newest versions, `--check` only compares."""
    project = tomllib.loads(PROJECT_FILE.read_text(encoding="utf-8"))
    if "--check" in sys.argv[1:]:
        return check(project)
    write(LOCK_FILE, requirements(project), project)
    write(JAVA_LOCK_FILE, project["project"]["optional-dependencies"]["java"], project)
    return 0


def check(project: dict[str, Any]) -> int:
    """Return 1, and say so, when a lock was not made from the tables as they are."""
    outdated = [
        path.name
        for path in (LOCK_FILE, JAVA_LOCK_FILE)
        if not path.exists() or header(project) not in path.read_text(encoding="utf-8")
    ]
    if outdated:
        print(f"not made from this pyproject.toml: {', '.join(outdated)}", file=sys.stderr)
        print("hint: `make lock` makes them anew", file=sys.stderr)
    return 1 if outdated else 0


def requirements(project: dict[str, Any]) -> list[str]:
    """Return what a developer's environment has to hold."""
    return [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]


def header(project: dict[str, Any]) -> str:
    """Return the first line of a lock that was made from `project`."""
    tables = {
        "python": project["project"]["requires-python"],
        "dependencies": project["project"]["dependencies"],
        "extras": project["project"]["optional-dependencies"],
        "groups": project["dependency-groups"],
    }
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
    return f"# made by `make lock` from pyproject.toml, dependency tables {digest[:16]}\n"


def write(path: Path, wanted: list[str], project: dict[str, Any]) -> None:
    """Resolve `wanted` into `path`; versions it already holds are kept where they still fit."""
    python = project["project"]["requires-python"].removeprefix(">=")
    subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "compile", "-", "--output-file", path),
            *("--universal", "--python-version", python, "--generate-hashes"),
            *("--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"),
            *(argument for argument in sys.argv[1:] if argument == "--upgrade"),
        ],
        input="\n".join(wanted),
        text=True,
        check=True,
        cwd=ROOT,
    )
    pins = path.read_text(encoding="utf-8")
    path.write_text(header(project) + pins, encoding="utf-8")
    print(f"{path.name}: {pins.count('==')} packages")


if __name__ == "__main__":
    sys.exit(main())
