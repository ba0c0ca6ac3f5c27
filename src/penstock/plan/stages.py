"""Stages: the steps of a plan. One list of them is both printed and executed.

A stage says exactly what it does and holds all it needs for it. Its line of text is made in
`explain.py`, its effect in `apply.py`; how a plan finds the stages is in `topics.py`.
"""

from dataclasses import dataclass

from penstock.names import TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigValue:
    """A config that a new topic gets."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDifference:
    """A config of a topic whose value in force is not the declared one."""

    name: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """Create a topic; None leaves a number to the cluster's default."""

    topic: TopicName
    partition_count: int | None
    replication_factor: int | None
    configs: tuple[ConfigValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    """Let a topic grow from `old_count` to `new_count` partitions."""

    topic: TopicName
    old_count: int
    new_count: int
    keys_may_move: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTopicConfig:
    """Give configs of a topic their declared values."""

    topic: TopicName
    differences: tuple[ConfigDifference, ...]


Stage = CreateTopic | AddPartitions | AlterTopicConfig
