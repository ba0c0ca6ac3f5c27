"""What is measured of brokers, and of the cluster as a whole.

All but the first of a broker, its disk and its counts of partitions are read from its exporter.
"""

from penstock.monitoring.catalog.metric import Metric, Unit, counter, gauge

CLUSTER_ANSWERS = gauge(
    "penstock_cluster_answers",
    Unit.BOOLEAN,
    "Whether any broker has answered the console; while none does, nothing else is known.",
)
CLUSTER_BROKERS = gauge("penstock_cluster_brokers", Unit.COUNT, "Brokers that accept connections.")
CLUSTER_BROKERS_AWAY = gauge(
    "penstock_cluster_brokers_away",
    Unit.COUNT,
    "Brokers that hold partitions and do not accept connections.",
)
CLUSTER_TOPICS = gauge("penstock_cluster_topics", Unit.COUNT, "Topics, internal ones included.")
CLUSTER_PARTITIONS = gauge("penstock_cluster_partitions", Unit.COUNT, "Partitions of all topics.")
CLUSTER_UNDER_REPLICATED = gauge(
    "penstock_cluster_under_replicated_partitions",
    Unit.COUNT,
    "Partitions of which a replica is missing or behind: more than 0 is a risk of loss.",
)
CLUSTER_OFFLINE = gauge(
    "penstock_cluster_offline_partitions",
    Unit.COUNT,
    "Partitions without a leader: they can neither be written nor read.",
)
CLUSTER_CONTROLLERS = gauge(
    "penstock_cluster_active_controllers",
    Unit.COUNT,
    "Nodes that say they are the active controller: anything but 1 is a fault.",
)
CLUSTER_LEADER_IMBALANCE = gauge(
    "penstock_cluster_leader_imbalance",
    Unit.RATIO,
    "How many leaders the broker with most has, compared with an even share: 1 is even.",
)
CLUSTER_TRAFFIC_IMBALANCE = gauge(
    "penstock_cluster_traffic_imbalance",
    Unit.RATIO,
    "The same of bytes in and out; 1 while there is next to no traffic.",
)

BROKER_UP = gauge(
    "penstock_broker_up", Unit.BOOLEAN, "Whether the broker accepts connections.", "broker"
)
BROKER_PARTITIONS = gauge(
    "penstock_broker_partitions", Unit.COUNT, "Replicas that the broker holds.", "broker"
)
BROKER_LEADERS = gauge(
    "penstock_broker_leaders", Unit.COUNT, "Those that lead their partition.", "broker"
)
BROKER_DISK_BYTES = gauge(
    "penstock_broker_disk_bytes", Unit.BYTES, "Space on disk of its replicas.", "broker"
)
BROKER_DISK_USED = gauge(
    "penstock_broker_disk_used_ratio",
    Unit.RATIO,
    "Which share is in use of the fullest volume that it keeps replicas on.",
    "broker",
)
BROKER_CONTROLLER = gauge(
    "penstock_broker_active_controller",
    Unit.BOOLEAN,
    "Whether it says that it is the active controller.",
    "broker",
)
BROKER_UNDER_REPLICATED = gauge(
    "penstock_broker_under_replicated_partitions",
    Unit.COUNT,
    "Partitions that it leads and of which a follower is missing or behind.",
    "broker",
)
BROKER_UNDER_MIN_ISR = gauge(
    "penstock_broker_under_min_isr_partitions",
    Unit.COUNT,
    "Partitions that it leads with fewer replicas in sync than `min.insync.replicas`.",
    "broker",
)
BROKER_AT_MIN_ISR = gauge(
    "penstock_broker_at_min_isr_partitions",
    Unit.COUNT,
    "Partitions that it leads with exactly as many: one less, and nobody can write.",
    "broker",
)
BROKER_OFFLINE_REPLICAS = gauge(
    "penstock_broker_offline_replicas",
    Unit.COUNT,
    "Replicas on log directories that it has taken out of use.",
    "broker",
)
BROKER_OFFLINE_PARTITIONS = gauge(
    "penstock_broker_offline_partitions",
    Unit.COUNT,
    "Partitions without a leader; the active controller alone counts them.",
    "broker",
)
BROKER_PREFERRED_IMBALANCE = gauge(
    "penstock_broker_preferred_replica_imbalance",
    Unit.COUNT,
    "Partitions not led by their first replica; the active controller alone counts them.",
    "broker",
)
BROKER_BYTES_IN = counter(
    "penstock_broker_received_bytes_total", Unit.BYTES, "Bytes that were produced to it.", "broker"
)
BROKER_BYTES_OUT = counter(
    "penstock_broker_sent_bytes_total", Unit.BYTES, "Bytes that were fetched from it.", "broker"
)
BROKER_RECORDS_IN = counter(
    "penstock_broker_received_records_total", Unit.RECORDS, "Records produced to it.", "broker"
)
BROKER_BYTES_IN_RATE = gauge(
    "penstock_broker_received_bytes_per_second",
    Unit.BYTES_PER_SECOND,
    "Bytes produced to it per second, since the look before.",
    "broker",
)
BROKER_BYTES_OUT_RATE = gauge(
    "penstock_broker_sent_bytes_per_second",
    Unit.BYTES_PER_SECOND,
    "Bytes fetched from it per second, since the look before.",
    "broker",
)
BROKER_RECORDS_IN_RATE = gauge(
    "penstock_broker_received_records_per_second",
    Unit.RECORDS_PER_SECOND,
    "Records produced to it per second, since the look before.",
    "broker",
)
BROKER_ISR_SHRINKS = counter(
    "penstock_broker_isr_shrinks_total",
    Unit.COUNT,
    "How often a follower of a partition that it leads fell out of sync.",
    "broker",
)
BROKER_ISR_EXPANDS = counter(
    "penstock_broker_isr_expands_total", Unit.COUNT, "How often one came back.", "broker"
)
BROKER_CONNECTIONS = gauge(
    "penstock_broker_connections", Unit.COUNT, "Connections that are open now.", "broker"
)
BROKER_AUTHENTICATIONS = counter(
    "penstock_broker_successful_authentications_total",
    Unit.COUNT,
    "Clients that have proved who they are.",
    "broker",
)
BROKER_REQUESTS = counter(
    "penstock_broker_requests_total",
    Unit.COUNT,
    "Requests by their kind; `Fetch` counts those of consumers and followers too.",
    "broker",
    "request",
)
BROKER_REQUEST_SECONDS = gauge(
    "penstock_broker_request_seconds",
    Unit.SECONDS,
    "How long a part of a request took at most for a share of them: total, request_queue, local, "
    "remote, throttle, response_queue, response_send.",
    "broker",
    "request",
    "part",
    "quantile",
)
BROKER_LOG_FLUSHES = counter(
    "penstock_broker_log_flushes_total", Unit.COUNT, "Flushes of logs to disk.", "broker"
)
BROKER_LOG_FLUSH_SECONDS = gauge(
    "penstock_broker_log_flush_seconds",
    Unit.SECONDS,
    "How long a flush took at most, for a share of them.",
    "broker",
    "quantile",
)
BROKER_HEAP = gauge("penstock_broker_heap_bytes", Unit.BYTES, "Java heap that it uses.", "broker")
BROKER_HEAP_LIMIT = gauge(
    "penstock_broker_heap_limit_bytes", Unit.BYTES, "Java heap that it may use.", "broker"
)

BROKERS: tuple[Metric, ...] = (
    CLUSTER_ANSWERS,
    CLUSTER_BROKERS,
    CLUSTER_BROKERS_AWAY,
    CLUSTER_TOPICS,
    CLUSTER_PARTITIONS,
    CLUSTER_UNDER_REPLICATED,
    CLUSTER_OFFLINE,
    CLUSTER_CONTROLLERS,
    CLUSTER_LEADER_IMBALANCE,
    CLUSTER_TRAFFIC_IMBALANCE,
    BROKER_UP,
    BROKER_PARTITIONS,
    BROKER_LEADERS,
    BROKER_DISK_BYTES,
    BROKER_DISK_USED,
    BROKER_CONTROLLER,
    BROKER_UNDER_REPLICATED,
    BROKER_UNDER_MIN_ISR,
    BROKER_AT_MIN_ISR,
    BROKER_OFFLINE_REPLICAS,
    BROKER_OFFLINE_PARTITIONS,
    BROKER_PREFERRED_IMBALANCE,
    BROKER_BYTES_IN,
    BROKER_BYTES_OUT,
    BROKER_RECORDS_IN,
    BROKER_BYTES_IN_RATE,
    BROKER_BYTES_OUT_RATE,
    BROKER_RECORDS_IN_RATE,
    BROKER_ISR_SHRINKS,
    BROKER_ISR_EXPANDS,
    BROKER_CONNECTIONS,
    BROKER_AUTHENTICATIONS,
    BROKER_REQUESTS,
    BROKER_REQUEST_SECONDS,
    BROKER_LOG_FLUSHES,
    BROKER_LOG_FLUSH_SECONDS,
    BROKER_HEAP,
    BROKER_HEAP_LIMIT,
)
