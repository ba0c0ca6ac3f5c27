"""What a running pipeline tells: one event per thing that happened, in the order it happened.

The terminal, JSON lines and later the status table are made from these alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from penstock.errors import PenstockError
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, FlowName, Offset, Subject, TopicName
from penstock.pipeline import Guarantee

Offsets = Mapping[TopicPartition, Offset]


class FailureClass(StrEnum):
    """Where the cause of a failure lies, which decides who must act and whether to try again."""

    CODE = "user code"
    DATA = "data"
    KAFKA = "kafka"
    REGISTRY = "registry"
    STORAGE = "storage"
    CONFIGURATION = "configuration"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTimes:
    """The timestamps of the records that one batch read from one topic."""

    first: datetime
    last: datetime
    shares: Mapping[float, datetime] = field(default_factory=dict)
    """Before which moment a share of the records was stamped, by a sample of them; empty when a
    small batch has none in the sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgress:
    """What one batch read from one topic; `start` is empty in the very first batch."""

    dataset: DatasetName
    start: Offsets
    end: Offsets
    rows: Mapping[TopicPartition, int] | None = None
    """Records that were read, undecodable ones too; None when nobody counted. Offsets only bound
    them: transactions and compaction leave gaps."""

    times: RecordTimes | None = None
    """None when nothing was read, and in real time, where records do not wait for their batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRead:
    """What a flow uses of the values or keys of a topic whose schemas are in a registry."""

    topic: TopicName
    subject: Subject
    is_key: bool
    columns: Mapping[str, str]
    """The columns that it uses, with Spark's types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStarted:
    """The query of `flow` runs; `resumed_batch` is the batch it goes on after, None at birth."""

    flow: FlowName
    at: datetime
    query_id: str
    resumed_batch: int | None
    reads: tuple[SubjectRead, ...] = ()
    """Empty where it reads no registry formats, and where its use could not be found out."""

    writes: Mapping[DatasetName, Guarantee] = field(default_factory=dict)
    """What it offers each of its targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFinished:
    """A batch of `flow` is committed."""

    flow: FlowName
    at: datetime
    query_id: str
    batch_id: int
    input_rows: int
    output_rows: int | None
    """None when the sink does not say."""

    seconds: float
    phases: Mapping[str, int]
    """Milliseconds by Spark's names, such as `addBatch`."""

    sources: tuple[SourceProgress, ...]
    """Kafka sources only."""

    watermark: datetime | None
    state_rows: int = 0
    state_bytes: int = 0
    dropped_late: int = 0
    duplicates: int = 0
    """Rows that were removed because one like it came before."""

    undecodable: Mapping[DatasetName, int] = field(default_factory=dict)
    refused_rows: int = 0
    """Rows that no topic takes, which are dead letters and not among `output_rows`."""

    produced: int | None = None
    """Rows that the flow's function returned, refused ones too; None when nobody counted."""

    written: Mapping[str, int] = field(default_factory=dict)
    """Records by topic, dead letters too, and rows by table or sink; as far as they are known."""

    is_stateful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPlanned:
    """What Spark does for `flow`, told once per start, after its first batch."""

    flow: FlowName
    at: datetime
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowIdle:
    """`flow` looked for input and found none."""

    flow: FlowName
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLag:
    """How far `flow` is behind the ends of its topics; None where that is not known."""

    flow: FlowName
    at: datetime
    records: int | None
    seconds: float | None
    by_partition: Mapping[TopicPartition, int]
    held_records: int | None = 0
    """How many of `records` are behind an open transaction, where `flow` cannot read yet."""

    held_since: datetime | None = None
    """When the first of them was written, if the same transaction was open a moment before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLettersWritten:
    """`count` records of a batch of `flow` are in the dead-letter topic."""

    flow: FlowName
    at: datetime
    dataset: DatasetName
    topic: TopicName
    batch_id: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataLost:
    """Records were gone before `flow` read them, and the user allows going on without them."""

    flow: FlowName
    at: datetime
    topic: TopicName
    reason: str
    lost: Mapping[TopicPartition, int]
    """At most so many records per partition; offsets bound the count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupReloaded:
    """`flow` goes on with another version of a lookup."""

    flow: FlowName
    at: datetime
    lookup: DatasetName
    old_version: str
    new_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFailed:
    """The query of `flow` has ended with an error; a restart may follow."""

    flow: FlowName
    at: datetime
    failure: FailureClass
    error: PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRestarting:
    """`flow` will be started again after a pause."""

    flow: FlowName
    at: datetime
    attempt: int
    after_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPaused:
    """`flow` rests because somebody wanted that; its place and its state are kept."""

    flow: FlowName
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStarting:
    """Somebody wants `flow` to run, after a rest or anew; its query is about to start."""

    flow: FlowName
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStopped:
    """`flow` does not run any more, unless somebody starts it; `error`: if that was not wanted."""

    flow: FlowName
    at: datetime
    error: PenstockError | None = None
    finished: bool = False
    """Whether it has read all there was, as a flow with `available_now` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaAway:
    """No broker has answered for a while; the pipeline waits."""

    at: datetime
    error: PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaBack:
    """Brokers answer again."""

    at: datetime
    away_seconds: float


PipelineEvent = (
    FlowStarted
    | BatchFinished
    | FlowPlanned
    | FlowIdle
    | FlowLag
    | DeadLettersWritten
    | DataLost
    | LookupReloaded
    | FlowFailed
    | FlowRestarting
    | FlowPaused
    | FlowStarting
    | FlowStopped
    | KafkaAway
    | KafkaBack
)
Notify = Callable[[PipelineEvent], None]
"""Receives events, from any thread; must not block."""
