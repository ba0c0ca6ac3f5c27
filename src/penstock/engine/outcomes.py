"""What Spark makes of one flow, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.events import SubjectRead
    from penstock.errors import PenstockError
    from penstock.names import TopicName
    from penstock.pipeline import Flow, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowOutcome:
    """The analysis of one flow under certain schemas."""

    columns: Mapping[str, str] | None
    """What it returns, with Spark's types; None when it cannot be analyzed."""

    problems: tuple[PenstockError, ...] = ()
    reads: tuple[SubjectRead, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTrial:
    """One flow, analyzed under the schemas of today and under proposed ones."""

    flow: Flow
    sides: frozenset[tuple[TopicName, bool]]
    """What the proposal is about: values of topics, or with True their keys."""

    read: tuple[Topic, ...]
    """Those of these topics that it reads or looks up."""

    written: tuple[Topic, ...]
    """Those that it writes."""

    before: FlowOutcome | None
    """None: there is no schema yet."""

    after: FlowOutcome
