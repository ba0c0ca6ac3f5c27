"""Consumer groups: how far behind each is, where that goes, and what it will lose when."""

from penstock.monitoring.groups.figures import (
    FlowAddress,
    GroupFigures,
    GroupsSnapshot,
    PartitionFigures,
    flow_of,
)
from penstock.monitoring.groups.sampler import GroupSampler
from penstock.monitoring.groups.trend import Trend
from penstock.monitoring.groups.verdicts import Verdict

__all__ = [
    "FlowAddress",
    "GroupFigures",
    "GroupSampler",
    "GroupsSnapshot",
    "PartitionFigures",
    "Trend",
    "Verdict",
    "flow_of",
]
