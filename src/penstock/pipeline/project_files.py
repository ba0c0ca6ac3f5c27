"""The files of a project: which of its folder belong to it, and the version that they make."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE_SUFFIX = ".penstock.zip"
"""How the name of a packaged project ends; it is no part of the project."""

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages"})
_VERSION_LENGTH = 12


def project_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of the project in `folder`, relative to it and sorted.

    Left out is what others make or keep secret: hidden files and folders (`.git`, `.env`), virtual
    environments, caches, and packages of the project.
    """
    found = (path.relative_to(folder) for path in _walk(folder))
    return tuple(sorted(found, key=Path.as_posix))


def code_version(folder: Path) -> str:
    """Return a short hash of names and contents of the project's files: same code, same version."""
    whole = hashlib.sha256()
    for path in project_files(folder):
        with (folder / path).open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{path.as_posix()}\0{content}\n".encode())
    return whole.hexdigest()[:_VERSION_LENGTH]


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        place = Path(root)
        folders[:] = [name for name in folders if _belongs(place / name)]
        yield from (
            place / name
            for name in files
            if not name.startswith(".") and not name.endswith((".pyc", PACKAGE_SUFFIX))
        )


def _belongs(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _LEFT_OUT:
        return False
    return not (folder / "pyvenv.cfg").exists()
