"""What is measured of topics and their partitions; offsets by the usual lag exporters' names."""

from penstock.monitoring.catalog.metric import Metric, Unit, counter, gauge

PARTITION_EARLIEST = gauge(
    "kafka_partition_earliest_offset",
    Unit.OFFSET,
    "The first offset that a partition still has; in clusters of up to 5,000 partitions.",
    "topic",
    "partition",
)
PARTITION_LATEST = gauge(
    "kafka_partition_latest_offset",
    Unit.OFFSET,
    "The offset that its next record gets; in clusters of up to 5,000 partitions.",
    "topic",
    "partition",
)
TOPIC_PARTITIONS = gauge("penstock_topic_partitions", Unit.COUNT, "Partitions of a topic.", "topic")
TOPIC_UNDER_REPLICATED = gauge(
    "penstock_topic_under_replicated_partitions",
    Unit.COUNT,
    "Those of which a replica is missing or behind.",
    "topic",
)
TOPIC_OFFLINE = gauge(
    "penstock_topic_offline_partitions",
    Unit.COUNT,
    "Those without a leader: they can neither be written nor read.",
    "topic",
)
TOPIC_HOT = gauge(
    "penstock_topic_hot_partitions",
    Unit.COUNT,
    "Those that get ten times as many records as the median partition of the topic.",
    "topic",
)
TOPIC_RECORDS = counter(
    "penstock_topic_records_total",
    Unit.RECORDS,
    "Offsets given out in all partitions: records, and markers of transactions.",
    "topic",
)
TOPIC_RATE = gauge(
    "penstock_topic_records_per_second",
    Unit.RECORDS_PER_SECOND,
    "How many of them per second, as a mean of the last minute.",
    "topic",
)
TOPIC_BYTES = gauge(
    "penstock_topic_bytes", Unit.BYTES, "Space on disk of all replicas of a topic.", "topic"
)

TOPICS: tuple[Metric, ...] = (
    PARTITION_EARLIEST,
    PARTITION_LATEST,
    TOPIC_PARTITIONS,
    TOPIC_UNDER_REPLICATED,
    TOPIC_OFFLINE,
    TOPIC_HOT,
    TOPIC_RECORDS,
    TOPIC_RATE,
    TOPIC_BYTES,
)
