"""Loading a project: its Python files are imported, and what they declare becomes a pipeline."""

from __future__ import annotations

import importlib
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import Origin
from penstock.pipeline.declaring import Collected, collecting
from penstock.pipeline.errors import (
    InvalidPipelineError,
    NoFlowsError,
    ProjectNotFoundError,
    ProjectNotLoadedError,
)
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.validation import problems_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.names import PipelineName


def load_pipeline(folder: Path, *, name: PipelineName, files: Sequence[str]) -> Pipeline:
    """Import the files of the project in `folder` and return the pipeline they declare.

    Args:
        folder: the project.
        name: what the pipeline is called.
        files: globs of the Python files with declarations, relative to `folder`.

    Raises:
        ProjectNotFoundError: no file matches.
        InvalidPipelineError: the declarations have problems; it carries all of them.
    """
    folder = folder.resolve()
    paths = sorted({path for glob in files for path in folder.glob(glob) if path.is_file()})
    if not paths:
        raise ProjectNotFoundError(folder, looked_for=files)
    with collecting() as collected, _importable(folder):
        modules = tuple(_import(path, folder, collected) for path in paths)
    problems = [*collected.problems, *problems_of(collected.datasets, collected.flows)]
    if not collected.flows and not problems:
        problems.append(NoFlowsError(origin=Origin(paths[0])))
    if problems:
        raise InvalidPipelineError(name, problems)
    return Pipeline(
        name=name,
        folder=folder,
        datasets=tuple(collected.datasets),
        flows=tuple(collected.flows),
        modules=modules,
    )


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let files of the project import each other by name, and forget other projects' modules."""
    _forget(folder)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _forget(folder: Path) -> None:
    """Drop modules that an earlier load of this or another project left under the same names."""
    names = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir()}
    for name in [*sys.modules]:
        if name.partition(".")[0] in names and _is_project_module(name, folder):
            del sys.modules[name]


def _is_project_module(name: str, folder: Path) -> bool:
    """Tell a module of a project from one that is installed: those are never dropped."""
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        return False
    return Path(file).is_relative_to(folder) or "penstock_project" in vars(sys.modules[name])


def _import(path: Path, folder: Path, collected: Collected) -> str:
    name = ".".join(path.relative_to(folder).with_suffix("").parts)
    try:
        module = importlib.import_module(name)
    except Exception as err:  # noqa: BLE001 - the user's code may raise anything; it becomes a problem
        collected.problems.append(_not_loaded(path, err))
        return name
    vars(module)["penstock_project"] = str(folder)
    if not Path(module.__file__ or "").samefile(path):
        reason = f"the module name `{name}` belongs to `{module.__file__}`"
        collected.problems.append(ProjectNotLoadedError(path, reason=reason, origin=Origin(path)))
    return name


def _not_loaded(path: Path, err: Exception) -> ProjectNotLoadedError:
    """Point at the last line of the project that was running, or at the line that is no Python."""
    reason = traceback.format_exception_only(err)[-1].strip()
    if isinstance(err, SyntaxError) and err.filename:
        origin = Origin(Path(err.filename), err.lineno)
    else:
        frames = traceback.extract_tb(err.__traceback__)
        ours = [item for item in frames if Path(item.filename).is_relative_to(path.parent)]
        origin = Origin(Path(ours[-1].filename), ours[-1].lineno) if ours else Origin(path)
    return ProjectNotLoadedError(path, reason=reason, origin=origin)
