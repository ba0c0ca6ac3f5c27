"""Tables for spreadsheets, as CSV. What looks like a formula is kept from being one."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# A cell that begins so is carried out by spreadsheets when the file is opened.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_line(cells: Sequence[object]) -> str:
    """Return a row as CSV; None is an empty cell, and formulas begin with `'`."""
    line = io.StringIO()
    csv.writer(line).writerow(
        f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
        for cell in cells
    )
    return line.getvalue()
