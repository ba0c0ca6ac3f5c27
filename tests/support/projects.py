"""Projects as users write them: a file of declarations, in which comments mark wrong lines."""

import re
from pathlib import Path

from penstock.errors import PenstockError
from penstock.names import PipelineName
from penstock.pipeline import Pipeline, load_pipeline

_HEAD = """\
import penstock as ps
from pyspark.sql import DataFrame, Window, functions as F

"""
_MARK = re.compile(r"#\s*(PEN-\d+(?:,\s*PEN-\d+)*)\s*$")


def project(folder: Path, declarations: str) -> Pipeline:
    """Return the pipeline of a project whose only file has these declarations."""
    (folder / "flows.py").write_text(_HEAD + declarations, encoding="utf-8")
    return load_pipeline(folder, name=PipelineName("shop"), files=["*.py"])


def marked(folder: Path) -> list[tuple[str, int]]:
    """Return the codes that comments at the end of lines ask for, each with its line."""
    lines = (folder / "flows.py").read_text(encoding="utf-8").splitlines()
    return [
        (code.strip(), number)
        for number, line in enumerate(lines, start=1)
        if (mark := _MARK.search(line))
        for code in mark[1].split(",")
    ]


def places(problems: list[PenstockError]) -> list[tuple[str, int | None]]:
    """Return the code and the line of each problem."""
    return [(item.code, item.origin.line if item.origin else None) for item in problems]
