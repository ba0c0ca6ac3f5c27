"""The boundary around the user's functions: what they raise points at the user's line, not ours.

Spark's workers are other processes, on other machines perhaps, that cannot import the project:
its modules travel with the functions that use them.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.engine.flow_errors import FlowFunctionError, NoDataFrameError
from penstock.errors import Origin, PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def call(function: Callable[..., Any], arguments: Mapping[Any, Any], *, who: str) -> DataFrame:
    """Return the DataFrame that the user's `function` makes of `arguments`.

    Raises:
        FlowFunctionError: it raises, at the last line of the project that was running.
        NoDataFrameError: it returns something else.
    """
    folder = project_folder(function)
    carry_modules(folder)
    try:
        result = function(**arguments)
    except PenstockError as err:
        err.origin = err.origin or origin_of(err, function, folder)
        raise
    except Exception as err:
        origin = origin_of(err, function, folder)
        raise FlowFunctionError(who, reason=reason_of(err), origin=origin) from err
    if not isinstance(result, DataFrame):
        code = inspect.unwrap(function).__code__
        origin = Origin(Path(code.co_filename), code.co_firstlineno)
        raise NoDataFrameError(who, found=result, origin=origin)
    return result


def carry_modules(folder: Path) -> None:
    """Let the project's modules go to Spark's workers inside the functions that use them."""
    start = str(folder)  # comparing texts first: there are a thousand modules
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        # A script that was started goes by value anyway, and is there under two names.
        if not file or not file.startswith(start) or not name == module.__name__ != "__main__":
            continue
        if is_project_file(Path(file), folder):
            register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # untyped in PySpark


def project_folder(function: Callable[..., Any]) -> Path:
    """Return the folder of the project that `function` belongs to."""
    plain = inspect.unwrap(function)
    module = sys.modules.get(plain.__module__)
    folder = getattr(module, "penstock_project", None)
    return Path(folder) if folder else Path(plain.__code__.co_filename).parent


def is_project_file(path: Path, folder: Path) -> bool:
    """Tell the project's own files from those of a virtual environment inside it."""
    return path.is_relative_to(folder) and not {"site-packages", "dist-packages"} & set(path.parts)


def origin_of(err: BaseException, function: Callable[..., Any], folder: Path) -> Origin:
    """Return the last line of the project that was running when `err` was raised."""
    frames = traceback.extract_tb(err.__traceback__)
    ours = [frame for frame in frames if is_project_file(Path(frame.filename), folder)]
    if ours:
        return Origin(Path(ours[-1].filename), ours[-1].lineno)
    code = inspect.unwrap(function).__code__
    return Origin(Path(code.co_filename), code.co_firstlineno)


def reason_of(err: BaseException) -> str:
    """Return one sentence: of Spark's message the first, of other faults type and message."""
    if isinstance(err, PySparkException):
        return spark_sentence(err.getMessage() or str(err))
    return traceback.format_exception_only(err)[-1].strip()


def spark_sentence(message: str) -> str:
    """Return Spark's message without its condition, its SQL state and the plan behind it."""
    text = message.strip().splitlines()[0]
    if text.startswith("["):
        text = text.partition("] ")[2] or text
    return text.partition(" SQLSTATE:")[0].strip().rstrip(".")
