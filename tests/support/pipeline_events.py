"""Events of a running pipeline with everything filled in that a test is not about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from penstock.engine.events import BatchFinished, FailureClass, FlowFailed, FlowLag, SourceProgress
from penstock.errors import PenstockError
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, FlowName, Offset, Partition, TopicName

if TYPE_CHECKING:
    from penstock.engine.events import Offsets

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DETECT = FlowName("detect")


class HiccupError(PenstockError):
    code = "PEN-999"
    retryable = True

    def __init__(self, message: str = "a broker hiccuped") -> None:
        super().__init__(message, hint="wait")


def at(seconds: float) -> datetime:
    """Return the moment so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def offsets(*ends: int) -> Offsets:
    """Return the offset of each partition of the topic `lines`, from 0 on."""
    return {
        TopicPartition(TopicName("lines"), Partition(number)): Offset(end)
        for number, end in enumerate(ends)
    }


def batch(**fields: Any) -> BatchFinished:  # noqa: ANN401 - any field of the event
    """Return a batch of the flow `detect` with these fields."""
    plain = BatchFinished(
        flow=DETECT,
        at=NOON,
        query_id="8f4f",
        batch_id=0,
        input_rows=100,
        output_rows=10,
        seconds=0.5,
        phases={"addBatch": 400},
        sources=(SourceProgress(dataset=DatasetName("lines"), start={}, end=offsets(60, 40)),),
        watermark=None,
    )
    return replace(plain, **fields)


def lag(records: int | None, seconds: float | None, flow: FlowName = DETECT) -> FlowLag:
    """Return a lag."""
    return FlowLag(flow=flow, at=NOON, records=records, seconds=seconds, by_partition={})


def failed(error: PenstockError | None = None, flow: FlowName = DETECT) -> FlowFailed:
    """Return a failure of the flow."""
    return FlowFailed(flow=flow, at=NOON, failure=FailureClass.KAFKA, error=error or HiccupError())
