"""Applying a plan: its stages, in order, each safe to repeat.

If the process dies between two stages, the next plan starts from what exists by then and holds the
rest. So nothing is kept about a plan, and nothing is undone when a stage fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, StepStarted, ignore
from penstock.kafka import (
    ConfigAlteration,
    TopicExistsError,
    alter_topic,
    create_topic,
    describe_topics,
)
from penstock.plan.comparison import differing_configs
from penstock.plan.errors import PlanInterruptedError, TopicAppearedError
from penstock.plan.explain import describe
from penstock.plan.stages import AddPartitions, AlterTopicConfig, CreateTopic, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.kafka import Admin, TopicDescription


def apply_stages(stages: Sequence[Stage], admin: Admin, emit: Emit = ignore) -> None:
    """Do what `stages` say, and tell each by the line that `describe` gives.

    Raises:
        TopicAppearedError: the first stage met a topic that somebody else has just created
            otherwise; nothing was changed.
        ClusterError: the first stage failed; nothing was changed.
        PlanInterruptedError: a later stage failed; it says what was done before.
    """
    for number, stage in enumerate(stages):
        emit(StepStarted(step=describe(stage)))
        try:
            _apply(stage, admin)
        except PenstockError as fault:
            if number == 0:
                raise
            raise PlanInterruptedError(
                failed=describe(stage),
                fault=fault,
                done=[describe(item) for item in stages[:number]],
                left=[describe(item) for item in stages[number + 1 :]],
            ) from fault
        emit(StepFinished(step=describe(stage)))


def _apply(stage: Stage, admin: Admin) -> None:
    match stage:
        case CreateTopic():
            _create(stage, admin)
        case AddPartitions(topic=topic, new_count=count, keys_may_move=keys_may_move):
            alter_topic(admin, topic, partition_count=count, allow_key_move=keys_may_move)
        case AlterTopicConfig(topic=topic, differences=differences):
            alterations = [ConfigAlteration(name=item.name, value=item.new) for item in differences]
            alter_topic(admin, topic, alterations=alterations)
        case _:
            assert_never(stage)


def _create(stage: CreateTopic, admin: Admin) -> None:
    try:
        create_topic(
            admin,
            stage.topic,
            partition_count=stage.partition_count,
            replication_factor=stage.replication_factor,
            config={item.name: item.value for item in stage.configs},
        )
    except TopicExistsError:
        differences = list(_differences(stage, describe_topics(admin, [stage.topic])[0]))
        if differences:
            raise TopicAppearedError(stage.topic, differences=differences) from None


def _differences(stage: CreateTopic, found: TopicDescription) -> Iterator[str]:
    numbers = (
        ("partitions", stage.partition_count, len(found.partitions)),
        ("replication", stage.replication_factor, found.replication_factor),
    )
    for noun, wanted, count in numbers:
        if wanted is not None and wanted != count:
            yield f"{noun} {count} instead of {wanted}"
    for item in differing_configs(stage, found):
        yield f"{item.name} {item.old} instead of {item.new}"
