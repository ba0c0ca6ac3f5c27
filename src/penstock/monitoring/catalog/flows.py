"""What is measured of pipelines and their flows."""

from penstock.monitoring.catalog.metric import Metric, Unit, counter, gauge, histogram

_FLOW = ("pipeline", "flow")

PIPELINE_UP = gauge(
    "penstock_pipeline_up", Unit.BOOLEAN, "Whether a driver runs the pipeline.", "pipeline"
)
PIPELINE_LOST = gauge(
    "penstock_pipeline_lost",
    Unit.BOOLEAN,
    "Whether the driver has fallen silent without having ended.",
    "pipeline",
)
PIPELINE_FAILED = gauge(
    "penstock_pipeline_failed",
    Unit.BOOLEAN,
    "Whether the driver has ended with an error.",
    "pipeline",
)
FLOW_FAILED = gauge(
    "penstock_flow_failed",
    Unit.BOOLEAN,
    "Whether the flow has failed and is not started again.",
    *_FLOW,
)
FLOW_RUNNING = gauge(
    "penstock_flow_running", Unit.BOOLEAN, "Whether the flow runs or waits for input.", *_FLOW
)
INPUT_RECORDS = counter(
    "penstock_flow_input_records_total", Unit.RECORDS, "Records that the flow has read.", *_FLOW
)
OUTPUT_RECORDS = counter(
    "penstock_flow_output_records_total", Unit.RECORDS, "Records that it has written.", *_FLOW
)
INPUT_RATE = gauge(
    "penstock_flow_input_records_per_second",
    Unit.RECORDS_PER_SECOND,
    "Records that it reads per second, as a mean of the last seconds.",
    *_FLOW,
)
OUTPUT_RATE = gauge(
    "penstock_flow_output_records_per_second",
    Unit.RECORDS_PER_SECOND,
    "Records that it writes per second, as a mean of the last seconds.",
    *_FLOW,
)
PROCESSED_RATE = gauge(
    "penstock_flow_processed_records_per_second",
    Unit.RECORDS_PER_SECOND,
    "Records of the last batch by the time that it took: as many as it could read at most.",
    *_FLOW,
)
UNDECODABLE = counter(
    "penstock_flow_undecodable_records_total",
    Unit.RECORDS,
    "Records whose bytes do not match their format; they are dead letters.",
    *_FLOW,
)
DEAD_LETTERS = counter(
    "penstock_flow_dead_letters_total", Unit.RECORDS, "Records that became dead letters.", *_FLOW
)
LATE = counter(
    "penstock_flow_late_records_total",
    Unit.RECORDS,
    "Rows dropped behind the watermark, as Spark counts them: of an aggregation each group once "
    "per batch and partition, however many records it has.",
    *_FLOW,
)
DUPLICATES = counter(
    "penstock_flow_duplicate_records_total",
    Unit.RECORDS,
    "Rows removed because one like them came before.",
    *_FLOW,
)
BATCHES = counter("penstock_flow_batches_total", Unit.COUNT, "Batches that are committed.", *_FLOW)
RESTARTS = counter(
    "penstock_flow_restarts_total", Unit.COUNT, "Starts after a failure of the flow.", *_FLOW
)
BATCH_SECONDS = gauge(
    "penstock_flow_batch_seconds", Unit.SECONDS, "How long the last batch took.", *_FLOW
)
PHASE_SECONDS = gauge(
    "penstock_flow_batch_phase_seconds",
    Unit.SECONDS,
    "How long a phase of the last batch took, by Spark's name of it.",
    *_FLOW,
    "phase",
)
STATE_ROWS = gauge(
    "penstock_flow_state_rows",
    Unit.COUNT,
    "Rows of state that it keeps, where Spark counts them.",
    *_FLOW,
)
STATE_BYTES = gauge("penstock_flow_state_bytes", Unit.BYTES, "Memory that its state takes.", *_FLOW)
WATERMARK_DELAY = gauge(
    "penstock_flow_watermark_delay_seconds",
    Unit.SECONDS,
    "How far its watermark was behind the clock at the last batch.",
    *_FLOW,
)
LATENCY = histogram(
    "penstock_flow_latency_seconds",
    Unit.SECONDS,
    "From the timestamp of a record to the commit of the batch that read it.",
    *_FLOW,
)
LATENCY_QUANTILE = gauge(
    "penstock_flow_latency_quantile_seconds",
    Unit.SECONDS,
    "The same of the last batch with input: the time within which this share was committed.",
    *_FLOW,
    "quantile",
)
FLOW_LAG = gauge(
    "penstock_flow_lag_records",
    Unit.RECORDS,
    "Records in its topics that no committed batch has read.",
    *_FLOW,
)
FLOW_LAG_SECONDS = gauge(
    "penstock_flow_lag_seconds", Unit.SECONDS, "The age of the oldest of them.", *_FLOW
)
FLOW_HELD = gauge(
    "penstock_flow_held_records",
    Unit.RECORDS,
    "Those of them that are behind an open transaction.",
    *_FLOW,
)

FLOWS: tuple[Metric, ...] = (
    PIPELINE_UP,
    PIPELINE_LOST,
    PIPELINE_FAILED,
    FLOW_FAILED,
    FLOW_RUNNING,
    INPUT_RECORDS,
    OUTPUT_RECORDS,
    INPUT_RATE,
    OUTPUT_RATE,
    PROCESSED_RATE,
    UNDECODABLE,
    DEAD_LETTERS,
    LATE,
    DUPLICATES,
    BATCHES,
    RESTARTS,
    BATCH_SECONDS,
    PHASE_SECONDS,
    STATE_ROWS,
    STATE_BYTES,
    WATERMARK_DELAY,
    LATENCY,
    LATENCY_QUANTILE,
    FLOW_LAG,
    FLOW_LAG_SECONDS,
    FLOW_HELD,
)
