"""What a noun of the console consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.console.frame.actions import AnyAction
    from penstock.console.frame.endpoints import Endpoint
    from penstock.console.frame.pages import AnyPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The addresses of one noun; each noun's package has them as `PARTS`."""

    pages: tuple[AnyPage, ...] = ()
    actions: tuple[AnyAction, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
