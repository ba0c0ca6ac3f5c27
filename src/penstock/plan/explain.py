"""What a stage does, in one line: the same words before it is done and while it is."""

from typing import assert_never

from penstock.plan.stages import AddPartitions, AlterTopicConfig, CreateTopic, Stage


def describe(stage: Stage) -> str:
    """Return the line that stands for `stage` wherever a plan is shown."""
    match stage:
        case CreateTopic():
            return _creation(stage)
        case AddPartitions(topic=topic, old_count=old, new_count=new):
            moving = ", keys may move" if stage.keys_may_move else ""
            return f"add partitions to topic `{topic}`: {old} → {new}{moving}"
        case AlterTopicConfig(topic=topic, differences=differences):
            changes = ", ".join(
                f"{item.name} {'unset' if item.old is None else item.old} → {item.new}"
                for item in differences
            )
            return f"alter topic `{topic}`: {changes}"
        case _:
            assert_never(stage)


def _creation(stage: CreateTopic) -> str:
    parts = [
        "the cluster's default of partitions"
        if stage.partition_count is None
        else _counted(stage.partition_count, "partition")
    ]
    if stage.replication_factor is not None:
        parts.append(f"replication {stage.replication_factor}")
    parts += [f"{item.name}={item.value}" for item in stage.configs]
    return f"create topic `{stage.topic}` with {', '.join(parts)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
