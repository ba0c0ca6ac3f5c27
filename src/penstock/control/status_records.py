"""The status of a pipeline as its driver publishes it, in the table `_penstock.status`.

A driver writes one record under `status/<pipeline>/<epoch>`, on every change and every few
seconds; its lease is beside it, under `lease/<pipeline>`. The epoch is in the key so that a driver
that was frozen and taken over cannot overwrite what its successor says. Who writes is in
`publishing.py`, who reads in `fleet.py`; what does not change while a driver runs is told apart
from it (`about.py`). A record holds numbers, names and sentences, never the content of a record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from penstock.control.holders import Holder
from penstock.control.latency import LatencyRecord
from penstock.control.status import Rates, Totals
from penstock.control.supervision import FlowState
from penstock.engine.events import SubjectRead
from penstock.errors import PenstockError
from penstock.names import DatasetName, FlowName, PipelineName, TopicName
from penstock.pipeline import Guarantee

STATUS_TOPIC = TopicName("_penstock.status")
_STATUS_PREFIX = "status/"

PUBLISH_SECONDS = 4.0
"""How often a driver says that it lives while nothing else is to be said."""

SILENCE_SECONDS = 12.0
"""A driver that has not said so for so long is lost: two signs of life in a row are missing."""


class PipelineState(StrEnum):
    """Where a pipeline is in its life, in the words that users read."""

    STARTING = "starting"
    """Its driver is there; no flow has run yet."""

    RUNNING = "running"
    """Flows run, or wait for input, for Kafka or for their next start."""

    PAUSED = "paused"
    """Somebody paused every flow that is not over; the driver lives."""

    STOPPING = "stopping"
    """Running batches are being finished."""

    STOPPED = "stopped"
    """It has ended as somebody wanted, or because there was nothing left to do."""

    FAILED = "failed"
    """It has ended with an error."""

    LOST = "lost"
    """Its driver has fallen silent. No record says so: whoever reads concludes it."""


ENDED = frozenset({PipelineState.STOPPED, PipelineState.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRecord:
    """What went wrong, and when; no code: Penstock had not foreseen it."""

    code: str | None
    message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """The last batch that a flow has committed."""

    batch_id: int
    at: datetime
    seconds: float
    records_in: int
    records_out: int | None
    """None when the sink does not say."""

    phases: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by Spark's names."""

    state_rows: int | None = 0
    """None: there is state, and nobody counts its rows; Spark does if
    `spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows` is true."""

    state_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRecord:
    """How far a flow is behind the ends of its topics; None where that is not known."""

    records: int | None
    seconds: float | None
    held_records: int | None = 0
    """How many of them are behind an open transaction."""

    held_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """Where one flow stands."""

    flow: FlowName
    state: FlowState
    since: datetime
    rates: Rates
    totals: Totals
    """Since the driver began, restarts included."""

    lag: LagRecord | None = None
    last_batch: BatchRecord | None = None
    watermark: datetime | None = None
    latency: LatencyRecord | None = None
    last_error: ErrorRecord | None = None
    """Why it failed last, however well it does since."""

    failures: tuple[ErrorRecord, ...] = ()
    """Why it failed the last few times, newest first: of most of them it was started again."""

    reads: tuple[SubjectRead, ...] = ()
    """What it uses of topics with schemas in a registry, as of its last start."""

    writes: Mapping[DatasetName, Guarantee] = field(default_factory=dict)
    """What it offers each of its targets, as of its last start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """How Spark knows a driver, and where to look at it; None until that is known."""

    spark_application_id: str | None = None
    spark_ui: str | None = None
    health: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRecord:
    """What the driver of a pipeline says of itself."""

    pipeline: PipelineName
    state: PipelineState
    since: datetime
    why: str | None
    driver: Holder
    epoch: int
    """Which lease the driver holds: each has a higher number than the one before."""

    profile: str
    addresses: Addresses
    error: ErrorRecord | None = None
    """Why it failed, when it has."""

    flows: tuple[FlowRecord, ...] = ()

    @property
    def code_version(self) -> str:
        """The version of the project's code that the driver runs."""
        return self.driver.code_version


_RECORD = TypeAdapter(PipelineRecord)


def status_key(pipeline: PipelineName, epoch: int) -> str:
    """Return the key of a driver's status in the table."""
    return f"{_STATUS_PREFIX}{pipeline}/{epoch}"


def status_of_key(key: str) -> tuple[PipelineName, int] | None:
    """Return whose status is under `key`, and of which epoch; None: it holds something else."""
    if not key.startswith(_STATUS_PREFIX):
        return None
    pipeline, _, epoch = key.removeprefix(_STATUS_PREFIX).rpartition("/")
    return (PipelineName(pipeline), int(epoch)) if pipeline and epoch.isdecimal() else None


def encode_status(record: PipelineRecord) -> bytes:
    """Return a status as the table keeps it."""
    return _RECORD.dump_json(record)


def decode_status(value: bytes) -> PipelineRecord | None:
    """Return the status that the table keeps; None when it is another version's and unreadable."""
    try:
        return _RECORD.validate_json(value)
    except ValidationError:
        return None


def error_record(error: BaseException, at: datetime) -> ErrorRecord:
    """Return what a status says of `error`."""
    if isinstance(error, PenstockError):
        return ErrorRecord(code=error.code, message=error.message, at=at)
    return ErrorRecord(code=None, message=_described(error), at=at)


def _described(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - errors of Spark ask the JVM for their text, which may be gone
        return name
