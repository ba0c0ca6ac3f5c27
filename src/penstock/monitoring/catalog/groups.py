"""What is measured of consumer groups; the first names are those of the usual lag exporters."""

from penstock.monitoring.catalog.metric import Metric, Unit, gauge

GROUP_PARTITION_LAG = gauge(
    "kafka_consumergroup_group_lag",
    Unit.RECORDS,
    "Records that the group has not committed in a partition.",
    "group",
    "topic",
    "partition",
)
GROUP_PARTITION_LAG_SECONDS = gauge(
    "kafka_consumergroup_group_lag_seconds",
    Unit.SECONDS,
    "The age of the oldest of them.",
    "group",
    "topic",
    "partition",
)
GROUP_MAX_LAG = gauge(
    "kafka_consumergroup_group_max_lag",
    Unit.RECORDS,
    "The lag of the group's slowest partition.",
    "group",
)
GROUP_MAX_LAG_SECONDS = gauge(
    "kafka_consumergroup_group_max_lag_seconds",
    Unit.SECONDS,
    "The age of the oldest record that the group has not committed.",
    "group",
)
GROUP_SUM_LAG = gauge(
    "kafka_consumergroup_group_sum_lag",
    Unit.RECORDS,
    "Records that the group has not committed, over all partitions.",
    "group",
)
GROUP_TIME_TO_LOSS = gauge(
    "penstock_group_time_to_data_loss_seconds",
    Unit.SECONDS,
    "How long until retention deletes records that the group has not read, if nothing changes.",
    "group",
)
GROUP_LOSS_MARGIN = gauge(
    "penstock_group_retention_left_ratio",
    Unit.RATIO,
    "How much of the retention is left until then: 1 is all of it, and 0 means that records go.",
    "group",
)
GROUP_EXPIRED = gauge(
    "penstock_group_expired_records",
    Unit.RECORDS,
    "Records that retention has deleted behind the group's position, before it has read them.",
    "group",
)
GROUP_MEMBERS = gauge("penstock_group_members", Unit.COUNT, "Members of the group.", "group")
GROUPS_BY_VERDICT = gauge(
    "penstock_groups",
    Unit.COUNT,
    "Groups of the cluster by how they get on: `ok`, `warn`, `stall`, `stop` or `err`.",
    "verdict",
)

GROUPS: tuple[Metric, ...] = (
    GROUP_PARTITION_LAG,
    GROUP_PARTITION_LAG_SECONDS,
    GROUP_MAX_LAG,
    GROUP_MAX_LAG_SECONDS,
    GROUP_SUM_LAG,
    GROUP_TIME_TO_LOSS,
    GROUP_LOSS_MARGIN,
    GROUP_EXPIRED,
    GROUP_MEMBERS,
    GROUPS_BY_VERDICT,
)
