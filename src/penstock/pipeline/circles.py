"""Circles: datasets that are made, over some way, of themselves."""

from __future__ import annotations

from graphlib import CycleError as GraphCycle
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from penstock.pipeline.datasets import Lookup, View
from penstock.pipeline.errors import CycleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.errors import Origin
    from penstock.pipeline.datasets import Dataset
    from penstock.pipeline.flows import Flow

_FLOW = "flow "


def cycles(datasets: Sequence[Dataset], flows: Sequence[Flow]) -> Iterator[CycleError]:
    """Yield a problem for each circle, at the flow or view that closes it."""
    inputs: dict[str, list[str]] = {}
    makers: dict[str, Origin] = {}
    for maker, made, reads, origin in _makers(datasets, flows):
        makers[maker] = origin
        inputs.setdefault(maker, []).extend(reads)
        for name in dict.fromkeys(made):
            inputs.setdefault(name, []).append(maker)
    while (way := _circle(inputs)) is not None:
        # The last one is who makes the first: a flow if there is any, as its target can change.
        last = next((item for item in way if item.startswith(_FLOW)), None)
        last = last or next(item for item in way if item in makers)
        start = way.index(last) + 1
        way = way[start:] + way[:start]
        yield CycleError(_shown(way), origin=makers[last])
        inputs[way[0]].remove(last)


def _makers(
    datasets: Sequence[Dataset], flows: Sequence[Flow]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], Origin]]:
    """Yield all that makes a dataset of others: its name, what it makes, reads, and where it is."""
    for dataset in datasets:
        match dataset:
            case View():
                reads = (*dataset.reads, *dataset.consults)
                yield f"view {dataset.name}", (dataset.name,), reads, dataset.origin
            case Lookup(source=str(source)):
                yield f"lookup {dataset.name}", (dataset.name,), (source,), dataset.origin
            case _:
                pass
    for flow in flows:
        reads = (*flow.reads, *flow.consults)
        yield f"{_FLOW}{flow.name}", tuple(flow.targets.values()), reads, flow.origin


def _shown(way: Sequence[str]) -> list[str]:
    """Return the way as messages tell it: a view and its function are one thing to users."""
    return [
        f"{kind} `{name}`" if name else f"`{kind}`"
        for kind, _, name in (item.partition(" ") for item in way)
        if kind == "flow" or not name
    ]


def _circle(inputs: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Return a way from an item round to the one before it, or None."""
    try:
        TopologicalSorter(inputs).prepare()
    except GraphCycle as err:
        way: list[str] = err.args[1]
        return way[:-1]
    return None
