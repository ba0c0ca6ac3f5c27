"""Loading a project: its Python files are imported, and what they declare becomes a pipeline."""

from __future__ import annotations

import importlib
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import Origin
from penstock.pipeline.collecting import Collected, collecting
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
    from types import ModuleType

    from penstock.errors import PenstockError
    from penstock.names import PipelineName


@dataclass(slots=True)
class _Loaded:
    """What the last load left in this process: the next one, of any project, removes it."""

    folder: Path | None = None
    modules: dict[str, ModuleType] = field(default_factory=dict)


_loaded = _Loaded()


def load_pipeline(folder: Path, *, name: PipelineName, files: Sequence[str]) -> Pipeline:
    """Import the files of the project in `folder` and return the pipeline they declare.

    The files import each other by their paths from `folder`: `flows/fraud.py` is `flows.fraud`.
    Functions may do so later too: `folder` stays the last place where Python looks for modules,
    until another project is loaded.

    Args:
        folder: the project.
        name: what the pipeline is called.
        files: globs of the Python files with declarations, relative to `folder`.

    Raises:
        ProjectNotFoundError: no file matches.
        InvalidPipelineError: the declarations have problems; it carries all of them.
    """
    folder = folder.resolve()
    paths = declaring_files(folder, files)
    if not paths:
        raise ProjectNotFoundError(folder, looked_for=files)
    with collecting() as collected, importable(folder):
        failures = [err for path in paths if (err := import_file(path, folder, collected))]
    problems = problems_of_project(collected, failures, paths)
    if problems:
        raise InvalidPipelineError(name, problems)
    return Pipeline(
        name=name,
        folder=folder,
        datasets=tuple(collected.datasets),
        flows=tuple(collected.flows),
        modules=tuple(_module_name(path, folder) for path in paths),
    )


def declaring_files(folder: Path, globs: Sequence[str]) -> list[Path]:
    """Return the files of the project in `folder` that match one of `globs`, sorted."""
    return sorted({path for glob in globs for path in folder.glob(glob) if path.is_file()})


def problems_of_project(
    collected: Collected, failures: Sequence[PenstockError], paths: Sequence[Path]
) -> list[PenstockError]:
    """Return the problems of the files and of what they declare, each once.

    What a file that failed would have declared is not known, so nothing is said about names that
    are missing.
    """
    problems: list[PenstockError] = [*failures, *collected.problems]
    problems += problems_of(
        collected.datasets,
        collected.flows,
        failed=collected.failed_datasets,
        complete=not failures,
    )
    if not (collected.flows or collected.failed_flows or failures):
        problems.append(NoFlowsError(origin=Origin(paths[0])))
    # A file that fails is tried again by each file that imports it.
    once = {(problem.message, problem.origin): problem for problem in problems}
    return sorted(once.values(), key=_place)


def _place(problem: PenstockError) -> tuple[str, int]:
    origin = problem.origin
    return (str(origin.file), origin.line or 0) if origin else ("", 0)


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let files of the project import each other by name, and forget the project before."""
    _forget()
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    _look_again(folder)
    try:
        yield
    finally:
        # First while loading, so that a project's `orders.py` wins over an installed one; last
        # afterwards, so that no import of ours or of a library finds a user's file.
        sys.path.remove(str(folder))
        sys.path.append(str(folder))
        _loaded.folder = folder
        _loaded.modules = {
            name: module
            for name, module in sys.modules.copy().items()  # a session may be starting meanwhile
            if name not in before and _is_below(module, folder)
        }


def _look_again(folder: Path) -> None:
    """Let an import see files that were written within the clock of the folder's last change.

    Only of this folder: `importlib.invalidate_caches` walks through what all threads look for, and
    fails when one of them imports meanwhile.
    """
    for place in list(sys.path_importer_cache):
        if Path(place).is_relative_to(folder):
            sys.path_importer_cache.pop(place, None)


def _forget() -> None:
    for name, module in _loaded.modules.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    if str(_loaded.folder) in sys.path:
        sys.path.remove(str(_loaded.folder))
    _loaded.folder, _loaded.modules = None, {}


def _is_below(module: ModuleType, folder: Path) -> bool:
    """Tell a module of the project from one that is installed: those are never dropped."""
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return any(Path(place).is_relative_to(folder) for place in places)


def _module_name(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def import_file(path: Path, folder: Path, collected: Collected) -> ProjectNotLoadedError | None:
    """Import one file; one that fails declares nothing, as an import of it later fails again."""
    name = _module_name(path, folder)
    datasets, flows = len(collected.datasets), len(collected.flows)
    try:
        module = importlib.import_module(name)
    except Exception as err:  # noqa: BLE001 - the user's code may raise anything; it becomes a problem
        del collected.datasets[datasets:], collected.flows[flows:]
        return not_loaded(path, folder, err)
    file = getattr(module, "__file__", None)
    if file is None or not path.samefile(file):
        reason = f"the module name `{name}` belongs to `{file or 'Python itself'}`"
        return ProjectNotLoadedError(path, reason=reason, origin=Origin(path))
    return None


def not_loaded(path: Path, folder: Path, err: Exception) -> ProjectNotLoadedError:
    """Point at the last line of the project that was running, or at the line that is no Python."""
    reason = traceback.format_exception_only(err)[-1].strip()
    if isinstance(err, SyntaxError) and err.filename:
        origin = Origin(Path(err.filename), err.lineno)
    else:
        frames = traceback.extract_tb(err.__traceback__)
        ours = [item for item in frames if Path(item.filename).is_relative_to(folder)]
        origin = Origin(Path(ours[-1].filename), ours[-1].lineno) if ours else Origin(path)
    return ProjectNotLoadedError(origin.file, reason=reason, origin=origin)
