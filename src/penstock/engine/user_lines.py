"""Whose line it is: the user's file and line for what Spark says, and Spark's words made short."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException, QueryContextType

from penstock.engine.user_code import spark_sentence
from penstock.errors import Origin
from penstock.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_COLUMN = re.compile(r"(?:`(?:[^`]|``)+`\.?)+")


def line_of_call(function: Callable[..., Any], names: Collection[str]) -> Origin | None:
    """Return the last line in the source of `function` that calls one of `names`, if any does.

    Plans do not know which line an operator comes from; the source of the function does, unless
    the call is in a function elsewhere.
    """
    function = inspect.unwrap(function)
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):  # made by `exec`, or a lambda amid other code
        return None
    called = [line for line, name in _calls(tree) if name in names]
    if not called:
        return None
    return Origin(Path(function.__code__.co_filename), first + max(called) - 1)


def _calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return each call's name, and the line on which the name ends: chains span several."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case (
                    ast.Attribute(attr=name, end_lineno=int(line))
                    | ast.Name(id=name, end_lineno=int(line))
                ):
                    yield line, name
                case _:
                    pass


def call_site(err: PySparkException, files: Collection[Path]) -> Origin | None:
    """Return the line in one of `files` at which Spark saw the expression that `err` is about.

    It may be earlier than the line that failed: a Column is made on one line and used on another.
    """
    for context in err.getQueryContext() or ():
        if context.contextType() is QueryContextType.DataFrame:
            file, _, line = context.callSite().rpartition(":")
            if line.isdigit() and Path(file) in files:
                return Origin(Path(file), int(line))
    return None


def reason(err: PySparkException) -> str:
    """Return what `err` says as one plain sentence."""
    parameters = err.getMessageParameters() or {}
    match err.getCondition():
        case "UNRESOLVED_COLUMN.WITH_SUGGESTION" | "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION":
            return f"there is no column {_plain_name(parameters['objectName'])}"
        case "UNRESOLVED_USING_COLUMN_FOR_JOIN":
            name, side = _plain_name(parameters["colName"]), parameters["side"]
            return f"there is no column {name} on the {side} side of the join"
        case "ATTRIBUTE_NOT_SUPPORTED":
            return f"there is no column `{parameters['attr_name']}`"
        case _:
            return _lower(spark_sentence(str(err)))


def hint(err: PySparkException) -> str:
    """Return the nearest of the names that Spark offers, or all of them, or where to look."""
    parameters = err.getMessageParameters() or {}
    offered = parameters.get("proposal") or parameters.get("suggestion") or ""
    known = [_plain(name) for name in _COLUMN.findall(offered)]
    if not known:
        return "change this line; the names and types of inputs are those of their declarations"
    wanted = _plain(parameters.get("objectName") or parameters.get("colName") or "")
    close = nearest(wanted, known)
    listed = ", ".join(f"`{name}`" for name in known)
    return f"did you mean `{close}`?" if close else f"there are: {listed}"


def _plain_name(quoted: str) -> str:
    return f"`{_plain(quoted)}`"


def _plain(quoted: str) -> str:
    return quoted.replace("`.`", ".").strip("`").replace("``", "`")


def _lower(text: str) -> str:
    """Return `text` as the middle of a message; words such as `USING` stay as they are."""
    text = text.rstrip(";")
    return text if text[:2].isupper() else text[:1].lower() + text[1:]
