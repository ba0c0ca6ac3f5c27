"""Schemas as declarations write them: Spark's DDL, `host string, seen timestamp`.

Only the names of the top-level columns are read here, which is what the checks without Spark need.
Whether a type exists is for Spark to say when it analyzes the flows.
"""

import re

_COLUMN = re.compile(
    r"^(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))\s*(?::|\s)\s*(?P<type>\S.*)$", re.S
)


def column_types(ddl: str) -> dict[str, str]:
    """Return the top-level columns of `ddl` with their types as written, in order.

    Raises:
        ValueError: `ddl` is not a list of columns; the text says which part.
    """
    columns: dict[str, str] = {}
    for part in _split(ddl):
        match = _COLUMN.match(part.strip())
        if match is None:
            reason = f"`{part.strip()}` is not a column with a type"
            raise ValueError(reason)
        name = match["plain"] or match["quoted"].replace("``", "`")
        if name in columns:
            reason = f"the column `{name}` is there twice"
            raise ValueError(reason)
        columns[name] = match["type"].strip()
    return columns


def column_names(ddl: str) -> tuple[str, ...]:
    """Return the top-level column names of a schema that has been checked."""
    return tuple(column_types(ddl))


def _split(ddl: str) -> list[str]:
    """Cut `ddl` at the commas that stand outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for char in ddl:
        if quote:
            quote = "" if char == quote else quote
        elif char in "`'\"":
            quote = char
        elif char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return parts
