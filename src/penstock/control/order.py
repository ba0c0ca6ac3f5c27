"""In which order flows run when each of them ends: first those that write what others read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.pipeline import Lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.names import DatasetName, FlowName
    from penstock.pipeline import Flow, Pipeline


def writers_before(
    pipeline: Pipeline, flows: Sequence[Flow]
) -> dict[FlowName, frozenset[FlowName]]:
    """Return, for each of `flows`, those of `flows` that write what it reads or looks up."""
    chosen = {flow.name for flow in flows}
    return {
        flow.name: frozenset(
            writer.name for name in _read(pipeline, flow) for writer in pipeline.writers(name)
        )
        & chosen
        for flow in flows
    }


def _read(pipeline: Pipeline, flow: Flow) -> set[DatasetName]:
    sources = pipeline.upstream(flow)
    looked_up = {
        item.source for item in sources if isinstance(item, Lookup) and isinstance(item.source, str)
    }
    return {item.name for item in sources} | looked_up
