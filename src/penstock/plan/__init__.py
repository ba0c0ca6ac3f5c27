"""Desired against observed: what must change on the cluster, as stages to show and to apply."""

from penstock.plan.apply import apply_stages
from penstock.plan.comparison import PlanWarning
from penstock.plan.errors import (
    ExternalTopicMissingError,
    FewerPartitionsDeclaredError,
    InvalidPlanError,
    KeyedTopicGrowsError,
    PlanInterruptedError,
    TooManyReplicasError,
    TopicAppearedError,
    TopicProblemError,
    TopicRefusedError,
)
from penstock.plan.explain import describe
from penstock.plan.stages import (
    AddPartitions,
    AlterTopicConfig,
    ConfigDifference,
    ConfigValue,
    CreateTopic,
    Stage,
)
from penstock.plan.topics import TopicPlan, plan_topics

__all__ = [
    "AddPartitions",
    "AlterTopicConfig",
    "ConfigDifference",
    "ConfigValue",
    "CreateTopic",
    "ExternalTopicMissingError",
    "FewerPartitionsDeclaredError",
    "InvalidPlanError",
    "KeyedTopicGrowsError",
    "PlanInterruptedError",
    "PlanWarning",
    "Stage",
    "TooManyReplicasError",
    "TopicAppearedError",
    "TopicPlan",
    "TopicProblemError",
    "TopicRefusedError",
    "apply_stages",
    "describe",
    "plan_topics",
]
