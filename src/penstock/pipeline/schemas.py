"""Schemas as declarations write them: Spark's DDL, `host string, seen timestamp`.

Only the names of the top-level columns are read here, which is what the checks without Spark need.
Whether a type exists is for Spark to say when it analyzes the flows.
"""

import re

_COLUMN = re.compile(
    r"^(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))\s*(?::|\s)\s*(?P<type>\S.*)$", re.S
)

# A quoted name, a quoted comment (in which a backslash protects a quote), or any other character.
_PIECE = re.compile(r"""`[^`]*`|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|.""", re.S)


def column_types(ddl: str) -> dict[str, str]:
    """Return the top-level columns of `ddl` with their types as written, in order.

    Raises:
        ValueError: `ddl` is not a list of columns; the text says which part.
    """
    columns: dict[str, str] = {}
    for part in _split(ddl):
        match = _COLUMN.match(part.strip())
        if match is None:
            reason = f"`{part.strip()}` is not a column with a type, such as `host string`"
            raise ValueError(reason)
        name = match["plain"] or match["quoted"].replace("``", "`")
        # Spark takes `host` and `Host` for the same column.
        if name.lower() in map(str.lower, columns):
            reason = f"the column `{name}` is there twice"
            raise ValueError(reason)
        columns[name] = match["type"].strip()
    return columns


def column_names(ddl: str) -> tuple[str, ...]:
    """Return the top-level column names of a schema that has been checked."""
    return tuple(column_types(ddl))


def _split(ddl: str) -> list[str]:
    """Cut `ddl` at the commas that stand outside brackets and quotes."""
    parts, depth = [""], 0
    for piece in _PIECE.findall(ddl):
        depth += (piece in "<(") - (piece in ">)")
        if depth < 0:
            break
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    if depth:
        reason = f"the brackets in `{ddl}` do not match"
        raise ValueError(reason)
    return parts
