"""The ready-made rules, with the thresholds of the texts that Penstock follows."""

from penstock.monitoring.alerts.conditions import Condition, Growth, Latest, Mean, Share
from penstock.monitoring.alerts.rules import Comparison, Rule, RuleName, Severity
from penstock.monitoring.catalog import MetricName
from penstock.monitoring.catalog.brokers import (
    BROKER_DISK_USED,
    BROKER_UNDER_MIN_ISR,
    CLUSTER_ANSWERS,
    CLUSTER_BROKERS_AWAY,
    CLUSTER_CONTROLLERS,
    CLUSTER_LEADER_IMBALANCE,
    CLUSTER_OFFLINE,
    CLUSTER_TRAFFIC_IMBALANCE,
    CLUSTER_UNDER_REPLICATED,
)
from penstock.monitoring.catalog.flows import (
    BATCH_SECONDS,
    FLOW_FAILED,
    INPUT_RATE,
    INPUT_RECORDS,
    PIPELINE_FAILED,
    PIPELINE_LOST,
    UNDECODABLE,
)
from penstock.monitoring.catalog.groups import GROUP_EXPIRED, GROUP_LOSS_MARGIN, GROUP_SUM_LAG
from penstock.monitoring.catalog.hosts import HOST_DISK_USED
from penstock.monitoring.catalog.service_levels import BUDGET_LEFT
from penstock.monitoring.catalog.topics import TOPIC_HOT
from penstock.monitoring.findings import DISK_LIMIT, IMBALANCE_LIMIT

_TEN_MINUTES, _QUARTER_OF_AN_HOUR = 600.0, 900.0


def _rule(
    name: str,
    condition: Condition,
    message: str,
    *,
    threshold: float = 0,
    comparison: Comparison = Comparison.ABOVE,
    hold_seconds: float = 60,
    severity: Severity = Severity.WARNING,
    enabled: bool = True,
) -> Rule:
    return Rule(
        name=RuleName(name),
        condition=condition,
        comparison=comparison,
        threshold=threshold,
        hold_seconds=hold_seconds,
        severity=severity,
        message=message,
        enabled=enabled,
        is_ready_made=True,
    )


_PIPELINES = (
    _rule(
        "pipeline-lost",
        Latest(PIPELINE_LOST.name),
        "the driver of pipeline `{pipeline}` has fallen silent",
        hold_seconds=30,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "pipeline-failed",
        Latest(PIPELINE_FAILED.name),
        "pipeline `{pipeline}` has failed",
        hold_seconds=0,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "flow-failed",
        Latest(FLOW_FAILED.name),
        "flow `{flow}` of `{pipeline}` has failed and is not started again",
        hold_seconds=0,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "batch-time-accelerating",
        Growth(BATCH_SECONDS.name, _TEN_MINUTES, floor=1.0),
        "batches of flow `{flow}` of `{pipeline}` take {value} as long as before",
        threshold=1.5,
    ),
    _rule(
        "undecodable-records",
        Share(UNDECODABLE.name, INPUT_RECORDS.name, _TEN_MINUTES),
        "{value} of the records of flow `{flow}` of `{pipeline}` cannot be decoded",
        threshold=0.01,
        hold_seconds=0,
    ),
    _rule(
        "service-level-missed",
        Latest(BUDGET_LEFT.name),
        "pipeline `{pipeline}` does not keep its service level `{service_level}`",
        comparison=Comparison.BELOW,
    ),
    # Off until somebody says of which flows data is expected all the time.
    _rule(
        "no-data",
        Mean(INPUT_RATE.name, _QUARTER_OF_AN_HOUR),
        "flow `{flow}` of `{pipeline}` has read nothing for a while",
        comparison=Comparison.AT_MOST,
        hold_seconds=0,
        enabled=False,
    ),
)

_GROUPS = (
    _rule(
        "lag-growing",
        Growth(GROUP_SUM_LAG.name, _TEN_MINUTES, floor=1000),
        "the lag of group `{group}` has grown to {value} of what it was",
        threshold=2,
    ),
    _rule(
        "data-loss-near",
        Latest(GROUP_LOSS_MARGIN.name),
        "group `{group}` has {value} of the retention left before records are lost to it",
        comparison=Comparison.BELOW,
        threshold=0.25,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "data-lost",
        Latest(GROUP_EXPIRED.name),
        "records that were deleted before group `{group}` has read them: {value}",
        hold_seconds=0,
        severity=Severity.CRITICAL,
    ),
)

_CLIENTS = (
    # Of the console's own. What a flow cannot write fails its batch, and with it the flow.
    _rule(
        "record-errors",
        Latest(MetricName("penstock_producer_record_error_rate")),
        "producer `{client}` of the console gives up {value} records per second",
        hold_seconds=0,
        severity=Severity.CRITICAL,
    ),
)

_CLUSTER = (
    # All others are about what brokers say, and stay as they are when none says anything.
    _rule(
        "cluster-away",
        Latest(CLUSTER_ANSWERS.name),
        "no broker of the cluster answers",
        comparison=Comparison.BELOW,
        threshold=1,
        hold_seconds=30,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "offline-partitions",
        Latest(CLUSTER_OFFLINE.name),
        "partitions without a leader, which can be neither written nor read: {value}",
        hold_seconds=30,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "under-replicated-partitions",
        Latest(CLUSTER_UNDER_REPLICATED.name),
        "partitions with a replica that is missing or behind: {value}",
    ),
    _rule(
        "under-min-isr",
        Latest(BROKER_UNDER_MIN_ISR.name),
        "partitions of broker {broker} that refuse records with `acks=all`: {value}",
        hold_seconds=30,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "active-controllers",
        Latest(CLUSTER_CONTROLLERS.name),
        "brokers that say they are the active controller: {value}, instead of 1",
        comparison=Comparison.UNEQUAL,
        threshold=1,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "brokers-away",
        Latest(CLUSTER_BROKERS_AWAY.name),
        "brokers that hold partitions and accept no connections: {value}",
        hold_seconds=30,
        severity=Severity.CRITICAL,
    ),
    _rule(
        "leader-imbalance",
        Latest(CLUSTER_LEADER_IMBALANCE.name),
        "a broker leads {value} of its even share of partitions",
        comparison=Comparison.AT_LEAST,
        threshold=IMBALANCE_LIMIT,
        hold_seconds=_QUARTER_OF_AN_HOUR,
    ),
    _rule(
        "traffic-imbalance",
        Latest(CLUSTER_TRAFFIC_IMBALANCE.name),
        "a broker has {value} of its even share of traffic",
        comparison=Comparison.AT_LEAST,
        threshold=IMBALANCE_LIMIT,
        hold_seconds=_QUARTER_OF_AN_HOUR,
    ),
    _rule(
        "hot-partition",
        Latest(TOPIC_HOT.name),
        "partitions of `{topic}` with ten times as many records as is usual there: {value}",
        hold_seconds=_TEN_MINUTES,
    ),
    _rule(
        "broker-disk-nearly-full",
        Latest(BROKER_DISK_USED.name),
        "a disk of broker {broker} is {value} full",
        comparison=Comparison.AT_LEAST,
        threshold=DISK_LIMIT,
    ),
    _rule(
        "host-disk-nearly-full",
        Latest(HOST_DISK_USED.name),
        "the volume of `{host}` with our data is {value} full",
        comparison=Comparison.AT_LEAST,
        threshold=DISK_LIMIT,
    ),
)

READY_MADE: tuple[Rule, ...] = (*_CLUSTER, *_PIPELINES, *_GROUPS, *_CLIENTS)
