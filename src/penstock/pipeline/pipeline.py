"""A pipeline: everything that a project declares, once it is known to fit together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from penstock.names import DatasetName, FlowName, PipelineName, TopicName, dead_letters_topic
from penstock.pipeline.datasets import Dataset, Lookup, Topic, View
from penstock.pipeline.errors import UnknownFlowError
from penstock.pipeline.flows import Flow


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The datasets and flows of one project; every name in them leads to a declaration."""

    name: PipelineName
    folder: Path
    """Where relative paths in declarations start."""

    datasets: tuple[Dataset, ...]
    flows: tuple[Flow, ...]
    modules: tuple[str, ...] = ()
    """The modules that the project was loaded from."""
    storage: str | None = None
    """Where the project wants its checkpoints, when it says so itself: a URI."""
    database: str = "default"
    """In which the tables are that functions read from the session by name."""

    @cached_property
    def _by_name(self) -> dict[DatasetName, Dataset]:
        return {dataset.name: dataset for dataset in self.datasets}

    @property
    def dead_letters(self) -> TopicName:
        """The topic, by its name in Kafka, for records that could not go on."""
        return dead_letters_topic(self.name)

    def dataset(self, name: DatasetName) -> Dataset:
        """Return the dataset of that name."""
        return self._by_name[name]

    def flow(self, name: str) -> Flow:
        """Return the flow of that name.

        Raises:
            UnknownFlowError: there is none.
        """
        for flow in self.flows:
            if flow.name == name:
                return flow
        raise UnknownFlowError(name, known=[flow.name for flow in self.flows])

    def only(self, names: Sequence[str]) -> tuple[Flow, ...]:
        """Return the flows of these names, or all when none is named.

        Raises:
            UnknownFlowError: one of the names is not a flow's.
        """
        return tuple(self.flow(name) for name in names) or self.flows

    def targets(self, flow: Flow) -> dict[str, Dataset]:
        """Return what `flow` writes, by route."""
        return {route: self.dataset(name) for route, name in flow.targets.items()}

    def sources(self, flow: Flow) -> tuple[Dataset, ...]:
        """Return what `flow` reads in the end: views are followed to what they read."""
        return tuple({item.name: item for item in self._sources(flow.reads)}.values())

    def upstream(self, flow: Flow) -> tuple[Dataset, ...]:
        """Return all that `flow` reads in the end, as streams or as a whole."""
        found = self._upstream((*flow.reads, *flow.consults))
        return tuple({item.name: item for item in found}.values())

    def writers(self, name: DatasetName) -> tuple[Flow, ...]:
        """Return the flows that write the dataset `name`."""
        return tuple(flow for flow in self.flows if name in flow.targets.values())

    def topics(self, flows: Sequence[Flow]) -> tuple[Topic, ...]:
        """Return the topics that `flows` read, write or look up, in order of declaration."""
        used = {dataset.name for flow in flows for dataset in self.sources(flow)}
        used |= {name for flow in flows for name in flow.targets.values()}
        used |= {
            dataset.source
            for dataset in self.datasets
            if isinstance(dataset, Lookup)
            and dataset.name in used
            and isinstance(dataset.source, str)
        }
        return tuple(
            item for item in self.datasets if isinstance(item, Topic) and item.name in used
        )

    def flow_names(self) -> tuple[FlowName, ...]:
        """Return the names of all flows, in order of declaration."""
        return tuple(flow.name for flow in self.flows)

    def _upstream(self, names: Sequence[DatasetName]) -> Iterator[Dataset]:
        for name in names:
            dataset = self.dataset(name)
            if isinstance(dataset, View):
                yield from self._upstream((*dataset.reads, *dataset.consults))
            else:
                yield dataset

    def _sources(self, names: Sequence[DatasetName]) -> Iterator[Dataset]:
        for name in names:
            dataset = self.dataset(name)
            if isinstance(dataset, View):
                yield from self._sources(dataset.reads)
            else:
                yield dataset
