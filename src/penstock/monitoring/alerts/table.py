"""The table `_penstock.alerts`: what survives a console, and what commands read without one.

alert/<rule>/<series>            an alert that is pending, firing, or over and not told to all
past/<when>/<rule>/<series>      one that is over; kept for a week
silence/<id>                     a silence
duty                             which console evaluates the rules, and how its deliveries do
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from penstock.kafka.tables import KafkaTable
from penstock.monitoring.alerts.errors import UnknownSilenceError
from penstock.monitoring.alerts.silences import Silence, SilenceId
from penstock.monitoring.alerts.states import Alert, DeliveryName, Past
from penstock.names import TopicName

if TYPE_CHECKING:
    from penstock.kafka import Connection
    from penstock.monitoring.alerts.states import AlertKey
    from penstock.names import Version

ALERTS_TOPIC = TopicName("_penstock.alerts")

PAST_KEPT = timedelta(days=7)
PAST_AT_MOST = 1000

_DUTY = "duty"

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryResult:
    """How a delivery has done last; None: it has not been needed yet."""

    arrived_at: datetime | None = None
    failed_at: datetime | None = None
    reason: str | None = None
    """Why it failed last, or did not reach everybody; None when it has worked since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """The console that evaluates the rules, as it says itself."""

    evaluator: str
    """Unique for each start of a console."""

    host: str
    pid: int
    evaluated_at: datetime
    rule_count: int
    deliveries: Mapping[DeliveryName, DeliveryResult]
    is_over: bool = False
    """Whether it has ended in peace, so that another may begin at once."""


_ALERT, _PAST = TypeAdapter(Alert), TypeAdapter(Past)
_SILENCE, _DUTY_RECORD = TypeAdapter(Silence), TypeAdapter(Duty)


class AlertTable:
    """The alerts of a cluster. Use it as a context manager; safe to share between threads."""

    def __init__(self, connection: "Connection", topic: TopicName = ALERTS_TOPIC) -> None:
        """Load the table.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        self._table = KafkaTable.open(connection, topic)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the table."""
        self.close()

    def close(self) -> None:
        """End its threads and connections."""
        self._table.close()

    def refresh(self) -> None:
        """Return when the table shows what is in it now.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        self._table.refresh()

    def alerts(self) -> dict["AlertKey", Alert]:
        """Return the alerts that are not over, and those that have yet to be told to be."""
        return {alert.key: alert for alert in self._read("alert/", _ALERT)}

    def past(self) -> list[Past]:
        """Return the alerts of the last days that are over, the latest first."""
        return sorted(self._read("past/", _PAST), key=lambda past: past.resolved_at, reverse=True)

    def silences(self) -> list[Silence]:
        """Return the silences, those that have ended lately too."""
        return sorted(self._read("silence/", _SILENCE), key=lambda silence: silence.begun_at)

    def duty(self) -> "tuple[Duty, Version] | None":
        """Return who evaluates the rules, or did last, and the version of that entry."""
        entry = self._table.get(_DUTY)
        found = _parsed(_DUTY_RECORD, entry.value) if entry else None
        return None if entry is None or found is None else (found, entry.version)

    def duty_version(self) -> "Version | None":
        """Return the version of that entry, also if it cannot be read."""
        entry = self._table.get(_DUTY)
        return entry.version if entry else None

    def take_duty(self, duty: Duty, *, version: "Version | None") -> "Version":
        """Write who evaluates, if the entry still is at `version`; return its new one.

        Raises:
            VersionConflictError: another console was quicker.
            PenstockError: Kafka cannot be used.
        """
        return self._table.put_if(_DUTY, _DUTY_RECORD.dump_json(duty), version=version).version

    def write_alert(self, key: "AlertKey", alert: Alert | None) -> None:
        """Write an alert, or forget it.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        place = f"alert/{_series(key)}"
        if alert is not None:
            self._table.put(place, _ALERT.dump_json(alert))
        elif self._table.get(place) is not None:
            self._table.delete(place)

    def add_past(self, past: Past) -> None:
        """Write an alert that is over; forget those that are older than a week, or too many.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        key = f"past/{past.resolved_at.isoformat()}/{_series((past.rule, past.labels))}"
        self._table.put(key, _PAST.dump_json(past))
        oldest = f"past/{(past.resolved_at - PAST_KEPT).isoformat()}"
        kept = sorted(self._table.entries_at("past/")[1], reverse=True)
        for index, old in enumerate(kept):
            if index >= PAST_AT_MOST or old < oldest:
                self._table.delete(old)

    def add_silence(self, silence: Silence) -> None:
        """Begin a silence.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        self._table.put(f"silence/{silence.id}", _SILENCE.dump_json(silence))

    def end_silence(self, silence: SilenceId) -> Silence:
        """End a silence and return it.

        Raises:
            UnknownSilenceError: there is none of that id.
            PenstockError: Kafka cannot be used.
        """
        found = next((item for item in self.silences() if item.id == silence), None)
        if found is None:
            raise UnknownSilenceError(silence)
        self._table.delete(f"silence/{silence}")
        return found

    def _read(self, prefix: str, adapter: TypeAdapter[Record]) -> list[Record]:
        entries = self._table.entries_at(prefix)[1].values()
        found = (_parsed(adapter, entry.value) for entry in entries)
        return [record for record in found if record is not None]


def _parsed(adapter: TypeAdapter[Record], value: bytes) -> Record | None:
    """Return a record; None when another version wrote it and it cannot be read."""
    try:
        return adapter.validate_json(value)
    except ValidationError:
        return None


def _series(key: "AlertKey") -> str:
    rule, labels = key
    return f"{rule}/{hashlib.sha256(json.dumps(labels).encode()).hexdigest()[:16]}"
