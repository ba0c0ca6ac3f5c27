"""What a project of `pyspark.pipelines` defines, in Spark's own words, before it is resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.pipelines.graph_element_registry import GraphElementRegistry

from penstock.errors import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.pipelines.flow import AutoCdcFlow, Flow
    from pyspark.pipelines.output import Output
    from pyspark.pipelines.source_code_location import SourceCodeLocation

    from penstock.pipeline import Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDefinition:
    """A table, view or sink as Spark's verbs describe it."""

    output: Output
    origin: Origin

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.output.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDefinition:
    """A query and where its rows go; `function` takes nothing and returns a DataFrame."""

    name: str
    target: str
    function: Callable[[], Any]
    origin: Origin
    conf: Mapping[str, str] = field(default_factory=dict)
    changes: Changes | None = None


@dataclass(slots=True)
class Definitions(GraphElementRegistry):
    """Everything that a project defines, in order."""

    outputs: list[OutputDefinition] = field(default_factory=list)
    queries: list[QueryDefinition] = field(default_factory=list)

    def register_output(self, output: Output) -> None:
        """Keep a table, view or sink."""
        origin = origin_of_location(output.source_code_location)
        self.outputs.append(OutputDefinition(output=output, origin=origin))

    def register_flow(self, flow: Flow) -> None:
        """Keep a query."""
        self.queries.append(
            QueryDefinition(
                name=flow.name,
                target=flow.target,
                function=flow.func,
                origin=origin_of_location(flow.source_code_location),
                conf={key: str(value) for key, value in flow.spark_conf.items()},
            )
        )

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        """Refuse: while a project is loaded, its verb is ours, which keeps texts."""
        raise NotImplementedError(flow.name)

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        """Refuse: SQL files are read by `statements.py`."""
        raise NotImplementedError(file_path)


def origin_of_location(location: SourceCodeLocation) -> Origin:
    """Return a place in Spark's words in ours."""
    return Origin(Path(location.filename), location.line_number)
