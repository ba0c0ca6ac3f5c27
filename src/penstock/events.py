"""What long work tells whoever started it. Code below `cli` emits events and never prints.

A function that may take more than two seconds accepts `emit: Emit = ignore` and reports its steps;
the terminal renders them as progress lines, a test collects them in a list.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """Work on `step` has begun; `step` is a short phrase such as "fetching jars"."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgressed:
    """`done` of `total` units of `step` are complete; `total` is None while unknown."""

    step: str
    done: int
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """`step` has ended well; `detail` says what came of it."""

    step: str
    detail: str = ""


Event = StepStarted | StepProgressed | StepFinished
Emit = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Drop `event`: the default for callers that show no progress."""
