"""What is measured of the promises that projects make of their pipelines."""

from penstock.monitoring.catalog.metric import Metric, Unit, gauge

_LEVEL = ("pipeline", "service_level")

COMPLIANCE = gauge(
    "penstock_service_level_compliance_ratio",
    Unit.RATIO,
    "The share of records, or of time, for which the service level was kept.",
    *_LEVEL,
)
TARGET = gauge(
    "penstock_service_level_target_ratio", Unit.RATIO, "The share that it promises.", *_LEVEL
)
BUDGET_LEFT = gauge(
    "penstock_service_level_budget_left_ratio",
    Unit.RATIO,
    "How much is left of what it may miss: 1 is all, below 0 it is broken.",
    *_LEVEL,
)

SERVICE_LEVELS: tuple[Metric, ...] = (COMPLIANCE, TARGET, BUDGET_LEFT)
