"""Service levels: what pipelines promise, and how it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from penstock.console.frame import Page
from penstock.monitoring.catalog.service_levels import COMPLIANCE

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.monitoring.service_levels import Compliance


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelLine:
    """One promise, and how it is kept."""

    pipeline: str
    name: str
    flow: str | None
    promise: str
    promised_share: float
    share: float | None
    """None: nothing was measured yet."""

    budget_left: float | None
    """1 is all of it; below 0 the promise is broken."""

    state: str
    url: str
    """Where its history is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevels:
    """All promises, the broken ones first."""

    levels: tuple[LevelLine, ...]
    broken: int


def load(ask: Ask) -> ServiceLevels:
    """Return all promises."""
    lines = sorted(
        (_line(found) for found in ask.world.service_levels),
        key=lambda line: (
            line.budget_left if line.budget_left is not None else 2.0,
            line.pipeline,
            line.name,
        ),
    )
    broken = sum(found.is_broken for found in ask.world.service_levels)
    return ServiceLevels(levels=tuple(lines), broken=broken)


def _line(found: Compliance) -> LevelLine:
    where = {"where.pipeline": found.pipeline, "where.service_level": found.level.name}
    return LevelLine(
        pipeline=found.pipeline,
        name=found.level.name,
        flow=found.level.flow,
        promise=found.promise,
        promised_share=found.level.share,
        share=found.share,
        budget_left=found.budget_left,
        state="not measured" if found.share is None else "broken" if found.is_broken else "kept",
        url=f"/explorer?{urlencode({'metric': COMPLIANCE.name, 'frame': '24h', **where})}",
    )


SERVICE_LEVELS = Page(
    path="/service-levels",
    name="list_service_levels",
    summary="What pipelines promise, how it is kept, and how much they may still miss.",
    template="metrics/service_levels.html",
    model=ServiceLevels,
    load=load,
    title=lambda _: "Service levels",
    command=None,
    live=("levels",),
    menu="Service levels",
)
