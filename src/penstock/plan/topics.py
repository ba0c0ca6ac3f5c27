"""The plan for topics: what must be created or altered so that a pipeline finds what it declares.

    absent                   created; as external it is a problem
    fewer partitions         added; on a keyed topic only when the declaration lets keys move
    more partitions          a problem: Kafka cannot remove any
    another config           altered, if the declaration names it; others stay as they are
    another replication      a warning: moving replicas is an operation of its own

Topics are never deleted, and those of others (`external=True`) never touched. The cluster checks
every stage in a dry run before the plan is handed out, so what can be refused is refused before
anything has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka import (
    ConfigAlteration,
    KeysWouldMoveError,
    NotAuthorizedError,
    TooFewBrokersError,
    TopicExistsError,
    UnknownConfigError,
    create_topic,
    describe_topics,
    ensure_alterable,
    topic_names,
)
from penstock.plan.comparison import Comparison, PlanWarning, compare_absent, compare_existing
from penstock.plan.errors import (
    InvalidPlanError,
    KeyedTopicGrowsError,
    TooManyReplicasError,
    TopicProblemError,
    TopicRefusedError,
)
from penstock.plan.stages import AddPartitions, AlterTopicConfig, CreateTopic, Stage
from penstock.plan.wanted import WantedTopic, wanted_topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import Admin
    from penstock.pipeline import Flow, Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """What must change before the flows can run, and what will stay otherwise than declared."""

    stages: tuple[Stage, ...]
    warnings: tuple[PlanWarning, ...] = ()


def plan_topics(admin: Admin, pipeline: Pipeline, flows: Sequence[Flow]) -> TopicPlan:
    """Return what the topics of `flows` need; nothing is changed.

    Raises:
        InvalidPlanError: some of them cannot become what is declared; all problems are in it.
        ClusterError: the cluster could not be asked.
    """
    compared = _compared(admin, wanted_topics(pipeline, flows))
    checked = [_checked(admin, item) for item in compared]
    problems = [item.problem for item in checked if item.problem is not None]
    if problems:
        raise InvalidPlanError(pipeline.name, problems)
    return TopicPlan(
        stages=tuple(stage for item in checked for stage in item.stages),
        warnings=tuple(warning for item in checked for warning in item.warnings),
    )


def _compared(admin: Admin, wanted: Sequence[WantedTopic]) -> list[Comparison]:
    known = topic_names(admin, internal=True)
    present = [item for item in wanted if item.name in known]
    ours = [item.name for item in present if not (item.external or item.keep_existing)]
    found = {item.name: item for item in describe_topics(admin, ours)}

    def compared(item: WantedTopic) -> Comparison:
        if item.name in found:
            return compare_existing(item, found[item.name])
        if item.name in known:
            return Comparison(wanted=item)
        return compare_absent(item, known=known)

    return [compared(item) for item in wanted]


def _checked(admin: Admin, compared: Comparison) -> Comparison:
    """Let the cluster check the stages; what it refuses becomes the problem of the topic."""
    try:
        _dry_run(admin, compared)
    except TopicExistsError:
        return compared  # created a moment ago: applying will see whether it fits
    except PenstockError as fault:
        if fault.retryable:
            raise
        return replace(compared, stages=(), problem=_problem(compared.wanted, fault))
    return compared


def _dry_run(admin: Admin, compared: Comparison) -> None:
    partition_count: int | None = None
    alterations: list[ConfigAlteration] = []
    for stage in compared.stages:
        match stage:
            case CreateTopic():
                create_topic(
                    admin,
                    stage.topic,
                    partition_count=stage.partition_count,
                    replication_factor=stage.replication_factor,
                    config={item.name: item.value for item in stage.configs},
                    dry_run=True,
                )
                return
            case AddPartitions(new_count=count):
                partition_count = count
            case AlterTopicConfig(differences=differences):
                alterations += [
                    ConfigAlteration(name=item.name, value=item.new) for item in differences
                ]
    if compared.stages:
        ensure_alterable(
            admin,
            compared.wanted.name,
            partition_count=partition_count,
            alterations=alterations,
            allow_key_move=compared.wanted.keys_may_move,
        )


def _problem(wanted: WantedTopic, fault: PenstockError) -> TopicProblemError:
    match fault:
        case TooFewBrokersError(replication_factor=declared, broker_count=count):
            return TooManyReplicasError(
                wanted.name, declared=declared, broker_count=count, origin=wanted.origin
            )
        case KeysWouldMoveError(move=move):
            why = f"holds keys ({move.moved_keys} of {move.key_count} in its latest records move)"
            return KeyedTopicGrowsError(
                wanted.name,
                found=move.old_count,
                declared=move.new_count,
                why=why,
                origin=wanted.origin,
            )
        case UnknownConfigError() | NotAuthorizedError():
            hint = fault.hint
        case _:
            hint = "change this declaration; its `config` has Kafka's own names and values"
    return TopicRefusedError(wanted.name, fault=fault, hint=hint, origin=wanted.origin)
