"""Events of a running pipeline in words for people and as JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from penstock.engine.events import (
    BatchFinished,
    DataLost,
    DeadLettersWritten,
    FlowFailed,
    FlowIdle,
    FlowLag,
    FlowPaused,
    FlowPlanned,
    FlowRestarting,
    FlowStarted,
    FlowStarting,
    FlowStopped,
    KafkaAway,
    KafkaBack,
    LookupReloaded,
)
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.control.status_records import LagRecord
    from penstock.engine.events import PipelineEvent
    from penstock.names import DatasetName
    from penstock.pipeline import Guarantee

_HELD_SECONDS = 10.0
"""Transactions of exactly-once writers come and go within seconds: they are nobody's trouble."""


def sentence(event: PipelineEvent) -> str | None:
    """Return what to tell people about `event`; None for the daily work of a healthy flow."""
    told = _told(event)
    if told is None or isinstance(event, KafkaAway | KafkaBack):
        return told
    return f"{event.flow}: {told}"


def _told(event: PipelineEvent) -> str | None:
    match event:
        case FlowStarted(resumed_batch=batch, writes=writes):
            told = "started" if batch is None else f"started, goes on after batch {batch}"
            return f"{told}, writes {offers(writes)}" if writes else told
        case DeadLettersWritten(count=count, topic=topic, dataset=dataset):
            return f"{_counted(count, 'dead letter')} of `{dataset}` in `{topic}`"
        case DataLost(topic=topic, lost=lost, reason=reason):
            records = _counted(sum(lost.values()), "record")
            return f"at most {records} of `{topic}` are lost: {reason}"
        case LookupReloaded(lookup=lookup, new_version=version):
            return f"goes on with version `{version}` of lookup `{lookup}`"
        case FlowFailed(failure=failure, error=error):
            return f"failed ({failure}): {_error(error)}"
        case FlowRestarting(attempt=attempt, after_seconds=pause):
            when = f"in {pause:.1f} s" if pause else "now"
            return f"starts again {when} (restart {attempt})"
        case FlowPaused():
            return "paused"
        case FlowStarting():
            return "starts because somebody asked for it"
        case FlowStopped(error=None, finished=finished):
            return "finished" if finished else "stopped"
        case FlowStopped():
            return "stays stopped: it failed for good"
        case KafkaAway(error=error):
            return f"waiting for Kafka: {_error(error)}"
        case KafkaBack(away_seconds=seconds):
            return f"Kafka is back after {seconds:.0f} s"
        case BatchFinished() | FlowPlanned() | FlowIdle() | FlowLag():
            return None
        case _:
            assert_never(event)


def offers(writes: Mapping[DatasetName, Guarantee]) -> str:
    """Return what a flow offers its targets: "`alerts` exactly once, `history` at least once"."""
    return ", ".join(f"`{name}` {guarantee}" for name, guarantee in writes.items())


def held(lag: FlowLag | LagRecord, now: datetime) -> str | None:
    """Return what to tell people of records behind an open transaction; None while it is young."""
    if lag.held_since is None or (now - lag.held_since).total_seconds() < _HELD_SECONDS:
        return None
    waiting = _counted(lag.held_records or 0, "record")
    since = f"{lag.held_since.astimezone():%Y-%m-%d %H:%M:%S}"
    return f"waits for a transaction that is open since {since}, {waiting} behind it"


def _error(error: PenstockError) -> str:
    where = f" at {error.origin}" if error.origin else ""
    return f"[{error.code}] {error.message}{where}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def json_line(event: PipelineEvent) -> str:
    """Return `event` as one line of JSON: its name, its fields, and what to tell people of it."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    told = sentence(event)
    return json.dumps({"event": name, **_fields(event)} | ({"told": told} if told else {}))


def _fields(value: object) -> dict[str, object]:
    assert dataclasses.is_dataclass(value)  # noqa: S101 - only the type checker does not know
    return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}


def _plain(value: object) -> object:
    if isinstance(value, PenstockError):
        return value.as_dict()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        # Partitions become `topic-0`, as Kafka writes them.
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return _fields(value)
    return value
