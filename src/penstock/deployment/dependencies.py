"""What a project imports: the installed packages that go with it to another machine.

They are those of Penstock and those that the project's `requirements.txt` names, with all that
they need in turn, as they are installed here. PySpark stays at home: a cluster has its own.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import penstock
from penstock.deployment.errors import DependencyNotPackableError

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIREMENTS = "requirements.txt"

_ON_EVERY_CLUSTER = frozenset({"pyspark", "py4j"})
_OF_THIS_MACHINE = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
"""Files about an installation that differ between two installations of the same thing."""

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[(?P<extras>[^\]]*)\])?"
    r"\s*\(?[\s\w.,*+!<>=~-]*\)?\s*(?:;(?P<condition>.*))?"
)
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """An installed package: its name, its version, and its files by the place they import from."""

    name: str
    version: str
    files: tuple[tuple[str, Path], ...]


def find_dependencies(project: Path) -> tuple[Dependency, ...]:
    """Return what goes with the project in the folder, sorted by name.

    Raises:
        DependencyNotPackableError: something is not installed, or only linked to.
    """
    wanted = [_parsed("penstock", "every project"), *_required(project / REQUIREMENTS)]
    found: dict[str, Dependency] = {}
    while wanted:
        need = wanted.pop()
        if need.name in found or need.name in _ON_EVERY_CLUSTER:
            continue
        distribution = _installed(need)
        if distribution is None:
            continue
        found[need.name] = Dependency(
            name=need.name, version=distribution.version, files=tuple(_files(distribution, need))
        )
        wanted += _needs(distribution, need)
    return tuple(sorted(found.values(), key=lambda item: item.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """One line of requirements."""

    name: str
    extras: frozenset[str]
    condition: str
    """When it is needed, such as `python_version < '3.12'`; empty: always."""

    needed_by: str


def _parsed(text: str, needed_by: str) -> _Need:
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        reason = "only names of packages can be, with a version behind them"
        raise DependencyNotPackableError(text, needed_by=needed_by, reason=reason)
    extras = (extra.strip() for extra in (match["extras"] or "").split(","))
    return _Need(
        name=re.sub(r"[-_.]+", "-", match["name"]).lower(),
        extras=frozenset(extra for extra in extras if extra),
        condition=(match["condition"] or "").strip(),
        needed_by=needed_by,
    )


def _required(file: Path) -> Iterator[_Need]:
    if not file.exists():
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        if text and not text.startswith("-"):  # options of pip say where it looks, not for what
            yield _parsed(text, f"`{REQUIREMENTS}`")


def _installed(need: _Need) -> importlib.metadata.Distribution | None:
    """Return what is installed; None for what is needed on some machines, and not on this one."""
    try:
        return importlib.metadata.distribution(need.name)
    except importlib.metadata.PackageNotFoundError as err:
        if need.condition:
            return None
        raise DependencyNotPackableError(
            need.name, needed_by=need.needed_by, reason="it is not installed"
        ) from err


def _needs(distribution: importlib.metadata.Distribution, asked: _Need) -> Iterator[_Need]:
    """Yield what `distribution` requires, with the extras that were asked for."""
    for text in distribution.requires or ():
        need = _parsed(text, f"`{asked.name}`")
        extra = _EXTRA.search(need.condition)
        if extra is None or extra[1] in asked.extras:
            yield need


def _files(
    distribution: importlib.metadata.Distribution, need: _Need
) -> Iterator[tuple[str, Path]]:
    is_linked = _is_linked(distribution)
    if is_linked and need.name != "penstock":
        raise DependencyNotPackableError(
            need.name, needed_by=need.needed_by, reason="it is a link to a folder of sources"
        )
    if is_linked:
        yield from _own_files()
    for file in distribution.files or ():
        # Commands in `bin` lie above the folder of packages, and name this machine's Python.
        if file.parts[0] == ".." or file.suffix in (".pyc", ".pth"):
            continue
        if file.name not in _OF_THIS_MACHINE:
            yield file.as_posix(), Path(str(distribution.locate_file(file)))


def _own_files() -> Iterator[tuple[str, Path]]:
    root = Path(penstock.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(root.parent).as_posix(), path


def _is_linked(distribution: importlib.metadata.Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))
