"""What is measured of our own producers and consumers, by the names of Java's clients.

The fields of `ProducerRates` and `ConsumerRates` in the package `kafka`, one metric each.
"""

from penstock.monitoring.catalog.metric import Metric, Unit, gauge

PRODUCERS: tuple[Metric, ...] = (
    gauge(
        "penstock_producer_record_error_rate",
        Unit.PER_SECOND,
        "Records per second that were given up: anything but 0 is a loss.",
        "client",
    ),
    gauge(
        "penstock_producer_record_retry_rate",
        Unit.PER_SECOND,
        "Requests per second that were sent again.",
        "client",
    ),
    gauge(
        "penstock_producer_request_latency_avg",
        Unit.SECONDS,
        "From a request to its answer, on average.",
        "client",
    ),
    gauge(
        "penstock_producer_outgoing_byte_rate",
        Unit.BYTES_PER_SECOND,
        "Bytes per second that were sent.",
        "client",
    ),
    gauge(
        "penstock_producer_record_send_rate",
        Unit.RECORDS_PER_SECOND,
        "Records per second that were sent.",
        "client",
    ),
    gauge("penstock_producer_request_rate", Unit.PER_SECOND, "Requests per second.", "client"),
    gauge("penstock_producer_response_rate", Unit.PER_SECOND, "Answers per second.", "client"),
    gauge(
        "penstock_producer_request_size_avg",
        Unit.BYTES,
        "The size of a request, on average.",
        "client",
    ),
    gauge(
        "penstock_producer_batch_size_avg",
        Unit.BYTES,
        "The size of a batch, which is of one partition, on average.",
        "client",
    ),
    gauge(
        "penstock_producer_record_size_avg",
        Unit.BYTES,
        "The size of a record, on average.",
        "client",
    ),
    gauge(
        "penstock_producer_records_per_request_avg",
        Unit.RECORDS,
        "Records in a request that carries records, on average.",
        "client",
    ),
    gauge(
        "penstock_producer_record_queue_time_avg",
        Unit.SECONDS,
        "How long a record waited in the producer, on average.",
        "client",
    ),
    gauge(
        "penstock_producer_buffer_total_bytes",
        Unit.BYTES,
        "How much of records may wait in the producer.",
        "client",
    ),
    gauge(
        "penstock_producer_buffer_available_bytes",
        Unit.BYTES,
        "How much of that is free: at 0, sending waits.",
        "client",
    ),
    gauge(
        "penstock_producer_compression_rate_avg",
        Unit.RATIO,
        "The size of batches by that of the keys and values in them, on average: less is better.",
        "client",
    ),
)
CONSUMERS: tuple[Metric, ...] = (
    gauge(
        "penstock_consumer_records_consumed_rate",
        Unit.RECORDS_PER_SECOND,
        "Records per second that were read.",
        "client",
    ),
    gauge(
        "penstock_consumer_bytes_consumed_rate",
        Unit.BYTES_PER_SECOND,
        "Bytes of records per second that were read.",
        "client",
    ),
    gauge(
        "penstock_consumer_incoming_byte_rate",
        Unit.BYTES_PER_SECOND,
        "Bytes per second that came in.",
        "client",
    ),
    gauge("penstock_consumer_request_rate", Unit.PER_SECOND, "Requests per second.", "client"),
    gauge(
        "penstock_consumer_fetch_rate",
        Unit.PER_SECOND,
        "Requests for records per second.",
        "client",
    ),
    gauge(
        "penstock_consumer_fetch_latency_avg",
        Unit.SECONDS,
        "From a request to its answer, waiting for records included, on average.",
        "client",
    ),
    gauge(
        "penstock_consumer_fetch_latency_max",
        Unit.SECONDS,
        "The longest of them.",
        "client",
    ),
    gauge(
        "penstock_consumer_fetch_size_avg",
        Unit.BYTES,
        "Bytes of records in an answer, on average.",
        "client",
    ),
    gauge(
        "penstock_consumer_records_per_request_avg",
        Unit.RECORDS,
        "Records in an answer, on average.",
        "client",
    ),
    gauge(
        "penstock_consumer_record_size_avg",
        Unit.BYTES,
        "The size of a record, on average.",
        "client",
    ),
    gauge(
        "penstock_consumer_records_lag_max",
        Unit.RECORDS,
        "How far the partition is behind that is furthest.",
        "client",
    ),
    gauge(
        "penstock_consumer_assigned_partitions",
        Unit.COUNT,
        "Partitions that the consumer reads.",
        "client",
    ),
    gauge(
        "penstock_consumer_heartbeat_rate",
        Unit.PER_SECOND,
        "Signs of life per second to the coordinator of the group.",
        "client",
    ),
    gauge("penstock_consumer_commit_rate", Unit.PER_SECOND, "Commits per second.", "client"),
    gauge(
        "penstock_consumer_join_rate", Unit.PER_SECOND, "Joins of the group per second.", "client"
    ),
    gauge(
        "penstock_consumer_sync_rate",
        Unit.PER_SECOND,
        "Syncs of the group per second; 0 most of the time.",
        "client",
    ),
    gauge(
        "penstock_consumer_rebalances",
        Unit.COUNT,
        "Rebalances since the consumer was opened.",
        "client",
    ),
)

CLIENTS: tuple[Metric, ...] = (*PRODUCERS, *CONSUMERS)
