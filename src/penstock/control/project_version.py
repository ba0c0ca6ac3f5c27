"""Which version of a project's code a driver runs: a short hash of what is declared."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from penstock.settings import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LENGTH = 12


def code_version(folder: Path, files: Sequence[str]) -> str:
    """Return a hash that changes when the project's declarations or settings do.

    It depends on paths within the project and on contents, so that all machines agree on it. What
    the files import from elsewhere plays no part.

    Args:
        folder: the project.
        files: globs of the files with declarations.
    """
    globs = (*files, FILE_NAME)
    paths = sorted({path for glob in globs for path in folder.glob(glob) if path.is_file()})
    digest = sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_LENGTH]
