"""Collecting declarations while a project is loaded; the verbs that declare are `declaring.py`.

A declaration with a wrong argument is kept as a problem, so that all of them can be shown
together; outside of a project it is raised at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from penstock.pipeline.errors import ContradictionError, DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.errors import Origin, PenstockError
    from penstock.pipeline.datasets import Dataset
    from penstock.pipeline.flows import Flow

Declared = TypeVar("Declared")


@dataclass(slots=True)
class Collected:
    """What has been declared while a project is loaded, and what was wrong with it."""

    datasets: list[Dataset] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    problems: list[PenstockError] = field(default_factory=list)

    failed_datasets: set[str] = field(default_factory=set)
    """Names whose declaration is a problem already: that flows use them is none."""
    failed_flows: set[str] = field(default_factory=set)
    undecorated: dict[str, Origin] = field(default_factory=dict)
    """Lookups without a source that wait for the function they decorate."""


_collected: ContextVar[Collected | None] = ContextVar("penstock_collected", default=None)


@contextmanager
def collecting() -> Iterator[Collected]:
    """Collect what is declared inside the `with` block."""
    collected = Collected()
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)
    for name, origin in collected.undecorated.items():
        collected.problems.append(_without_source(name, origin))
        collected.failed_datasets.add(name)


def add_dataset(name: str, declare: Callable[[], Dataset]) -> None:
    """Keep the dataset that `declare` returns, or what is wrong with it.

    Raises:
        DeclarationError: it is wrong, and no project is being loaded.
    """
    declared, collected = _unless_wrong(declare), _collected.get()
    if collected is None:
        return
    collected.undecorated.pop(name, None)
    if declared is None:
        collected.failed_datasets.add(name)
    else:
        collected.datasets.append(declared)


def add_flow(name: str, declare: Callable[[], Flow]) -> None:
    """Keep the flow that `declare` returns, or what is wrong with it.

    Raises:
        DeclarationError: it is wrong, and no project is being loaded.
    """
    declared, collected = _unless_wrong(declare), _collected.get()
    if collected is None:
        return
    if declared is None:
        collected.failed_flows.add(name)
    else:
        collected.flows.append(declared)


def await_function(lookup: str, origin: Origin) -> None:
    """Remember a lookup without a source: it is a problem unless it decorates a function."""
    collected = _collected.get()
    if collected is not None:
        collected.undecorated[lookup] = origin


def _unless_wrong(declare: Callable[[], Declared]) -> Declared | None:
    """Return the declaration; None when it is wrong, which has become a problem."""
    try:
        return declare()
    except ExceptionGroup as group:
        problems = cast("Sequence[DeclarationError]", group.exceptions)
    except DeclarationError as err:
        problems = (err,)
    collected = _collected.get()
    if collected is None:
        raise problems[0]
    collected.problems.extend(problems)
    return None


def _without_source(name: str, origin: Origin) -> ContradictionError:
    return ContradictionError(
        what=f"lookup `{name}`",
        reason="it has neither a source nor a function",
        hint='name a source such as `ps.csv_file("…", "…")`, or decorate a function with it',
        origin=origin,
    )
