"""How a running pipeline is doing, seen from outside of Spark: lag, and groups that show it."""

from penstock.monitoring.lag import LagMonitor
from penstock.monitoring.shadow_groups import ShadowGroups, shadow_group

__all__ = ["LagMonitor", "ShadowGroups", "shadow_group"]
