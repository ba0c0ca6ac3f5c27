"""One topic as it is wanted against the same topic as the cluster has it; nothing is asked here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import Origin
from penstock.kafka import TopicDescription
from penstock.names import TopicName
from penstock.plan.errors import (
    ExternalTopicMissingError,
    FewerPartitionsDeclaredError,
    KeyedTopicGrowsError,
    TopicProblemError,
)
from penstock.plan.stages import (
    AddPartitions,
    AlterTopicConfig,
    ConfigDifference,
    CreateTopic,
    Stage,
)
from penstock.plan.wanted import CLEANUP, WantedTopic


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWarning:
    """Something that is not as declared, that Penstock does not change and can live with."""

    topic: TopicName
    message: str
    hint: str
    origin: Origin | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What to do about one topic."""

    wanted: WantedTopic
    stages: tuple[Stage, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    problem: TopicProblemError | None = None


def compare_absent(wanted: WantedTopic, *, known: Sequence[str]) -> Comparison:
    """Return what follows when the cluster, which has the topics `known`, lacks `wanted`."""
    if wanted.external:
        problem = ExternalTopicMissingError(wanted.name, known=known, origin=wanted.origin)
        return Comparison(wanted=wanted, problem=problem)
    stage = CreateTopic(
        topic=wanted.name,
        partition_count=wanted.partition_count,
        replication_factor=wanted.replication_factor,
        configs=wanted.configs,
    )
    return Comparison(wanted=wanted, stages=(stage,))


def compare_existing(wanted: WantedTopic, found: TopicDescription) -> Comparison:
    """Return what follows when the cluster has the topic as `found`."""
    problem = _partition_problem(wanted, found)
    if problem is not None:
        return Comparison(wanted=wanted, problem=problem)
    return Comparison(
        wanted=wanted,
        # Configs first: they can be changed back, partitions stay.
        stages=(*_alteration(wanted, found), *_growth(wanted, found)),
        warnings=tuple(_warnings(wanted, found)),
    )


def differing_configs(
    wanted: CreateTopic | WantedTopic, found: TopicDescription
) -> tuple[ConfigDifference, ...]:
    """Return the wanted configs whose value in force is another, whoever has set it."""
    return tuple(
        ConfigDifference(name=item.name, old=found.config(item.name), new=item.value)
        for item in wanted.configs
        if not _same(found.config(item.name), item.value)
    )


def _partition_problem(wanted: WantedTopic, found: TopicDescription) -> TopicProblemError | None:
    count, declared = len(found.partitions), wanted.partition_count
    if declared is None or declared == count:
        return None
    if declared < count:
        return FewerPartitionsDeclaredError(
            wanted.name, found=count, declared=declared, origin=wanted.origin
        )
    if wanted.keys_may_move or not (wanted.keyed or _is_compacted(found)):
        return None
    why = "declares a key" if wanted.keyed else "is compacted"
    return KeyedTopicGrowsError(
        wanted.name, found=count, declared=declared, why=why, origin=wanted.origin
    )


def _alteration(wanted: WantedTopic, found: TopicDescription) -> Iterator[Stage]:
    differences = differing_configs(wanted, found)
    if differences:
        yield AlterTopicConfig(topic=wanted.name, differences=differences)


def _growth(wanted: WantedTopic, found: TopicDescription) -> Iterator[Stage]:
    count = len(found.partitions)
    if wanted.partition_count is not None and wanted.partition_count > count:
        yield AddPartitions(
            topic=wanted.name,
            old_count=count,
            new_count=wanted.partition_count,
            keys_may_move=wanted.keys_may_move,
        )


def _warnings(wanted: WantedTopic, found: TopicDescription) -> Iterator[PlanWarning]:
    declared, copies = wanted.replication_factor, found.replication_factor
    if declared is not None and declared != copies:
        yield PlanWarning(
            topic=wanted.name,
            message=f"topic `{wanted.name}` is declared with replication {declared} and has "
            f"{copies}, which Penstock does not change",
            hint="`kafka-reassign-partitions.sh` moves replicas; or declare what it has",
            origin=wanted.origin,
        )
    if _is_compacted(found) and CLEANUP not in {item.name for item in wanted.configs}:
        yield PlanWarning(
            topic=wanted.name,
            message=f"topic `{wanted.name}` is compacted, and its declaration does not say so",
            hint="declare `compacted=True`, or a `retention` to have records deleted by age",
            origin=wanted.origin,
        )


def _is_compacted(found: TopicDescription) -> bool:
    return "compact" in found.cleanup_policy.split(",")


def _same(found: str | None, wanted: str) -> bool:
    """Whether two texts are one value: lists in any order, truth values in any case."""
    return found is not None and _normal(found) == _normal(wanted)


def _normal(value: str) -> list[str]:
    parts = sorted(part.strip() for part in value.split(","))
    return [part.lower() if part.lower() in ("true", "false") else part for part in parts]
