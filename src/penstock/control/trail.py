"""The trail of a cluster: who did what, when, from where, and what came of it.

It is an ordinary topic with one partition, `_penstock.audit`, to which entries are added and from
which none is taken: on a secured cluster its ACLs say who may write it, and nobody needs to delete.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from threading import Lock
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from penstock.kafka import (
    Admin,
    Isolation,
    Producer,
    TopicExistsError,
    TopicPartition,
    UnknownTopicError,
    create_topic,
)
from penstock.kafka.browsing import (
    Continued,
    Direction,
    Ended,
    Ending,
    Found,
    Limits,
    Newest,
    Scan,
)
from penstock.names import Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kafka import Connection

TRAIL_TOPIC = TopicName("_penstock.audit")

_KEPT_DAYS = 400
_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": str(_KEPT_DAYS * 24 * 3600 * 1000),
    "segment.bytes": str(64 * 1024**2),
}
_DELIVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEntry:
    """Something that somebody did, or tried to do."""

    at: datetime
    who: str
    role: str | None
    """None: outside of the console, where Kafka's own rules decide."""

    address: str
    """From where: a network address, or a machine."""

    action: str
    """Such as `pause_flow`."""

    target: str
    """Such as `flow fraud/detect`."""

    done: str | None = None
    """What was done or begun; None: it was refused."""

    refused: str | None = None
    """Why it was not done, or not wholly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailPage:
    """Some entries, the newest first."""

    entries: tuple[TrailEntry, ...]
    begin: int
    """Behind the first of them: the page that begins here shows the same, whatever is added."""

    older: int | None
    """Where the entries before these begin; None: there are none."""

    looked_at: int
    """How many entries were read for it."""


_ENTRY = TypeAdapter(TrailEntry)
_LIMITS = Limits(found=1, records=100_000, byte_count=64 * 1024**2, seconds=5.0)
_PARTITION = TopicPartition(TRAIL_TOPIC, Partition(0))


class Trail:
    """Writes and reads the trail of one cluster. Threads may share it."""

    def __init__(self, connection: Connection) -> None:
        """Do nothing before the first entry."""
        self._connection, self._lock = connection, Lock()
        self._producer: Producer | None = None

    def record(self, entry: TrailEntry) -> None:
        """Add an entry; returns when the cluster has it.

        Raises:
            PenstockError: the cluster is away, or refuses.
        """
        self._opened().send_and_wait(
            TRAIL_TOPIC, _ENTRY.dump_json(entry), key=entry.target, partition=_PARTITION.partition
        )

    def last(self, count: int) -> list[TrailEntry]:
        """Return the newest entries, the newest first.

        Raises:
            PenstockError: the cluster is away, or refuses.
        """
        return list(self.page(count).entries)

    def page(
        self,
        count: int,
        *,
        begin: int | None = None,
        wanted: Callable[[TrailEntry], bool] = lambda _: True,
    ) -> TrailPage:
        """Return the newest entries that are `wanted`, of those before `begin`.

        It looks at so many entries as seconds allow; `older` goes on behind them.

        Raises:
            PenstockError: the cluster is away, or refuses.
        """
        number = _PARTITION.partition
        newest = Newest() if begin is None else Continued({number: begin}, Direction.OLDER)
        scan = Scan(
            self._connection,
            TRAIL_TOPIC,
            newest,
            isolation=Isolation.READ_COMMITTED,
            select=lambda record: _if(wanted, _entry_of(record.value)),
            limits=replace(_LIMITS, found=count),
        )
        entries: list[TrailEntry] = []
        try:
            for step in scan:
                if isinstance(step, Found):
                    entries.append(step.kept)
        except UnknownTopicError:  # nobody has done anything yet
            return TrailPage(entries=(), begin=0, older=None, looked_at=0)
        assert isinstance(step, Ended)  # noqa: S101 - a scan has a last word, or has raised
        is_over = step.ending is Ending.NOTHING_LEFT
        return TrailPage(
            entries=tuple(entries),
            begin=step.begins[number],
            older=None if is_over else step.scanned.positions[number],
            looked_at=step.scanned.records,
        )

    def close(self) -> None:
        """Close what is open."""
        if self._producer is not None:
            self._producer.close()

    def _opened(self) -> Producer:
        with self._lock:
            if self._producer is None:
                with Admin(self._connection) as admin:
                    if TRAIL_TOPIC not in admin.metadata().topics:
                        with suppress(TopicExistsError):
                            create_topic(admin, TRAIL_TOPIC, partition_count=1, config=_CONFIG)
                patience = min(_DELIVERY_SECONDS, self._connection.request_timeout_seconds)
                self._producer = Producer(self._connection, delivery_timeout_seconds=patience)
            return self._producer


def _if(wanted: Callable[[TrailEntry], bool], entry: TrailEntry | None) -> TrailEntry | None:
    return entry if entry is not None and wanted(entry) else None


def _entry_of(value: bytes | None) -> TrailEntry | None:
    try:
        return _ENTRY.validate_json(value or b"")
    except ValidationError:  # somebody else's, or of another version
        return None
