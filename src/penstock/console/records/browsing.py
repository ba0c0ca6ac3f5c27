"""Browsing a topic for one request: its masks, its registry, a scan within limits, and its rows."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from penstock.console.access.roles import Role
from penstock.console.errors import NotAllowedError
from penstock.console.records.masking import masking_for
from penstock.console.records.seeing import SeenRecord
from penstock.errors import PenstockError
from penstock.kafka import is_internal
from penstock.kafka.browsing import Limits, Scan, find_record
from penstock.kafka.formats import Place, Recognizer, Side
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.console.frame import Ask
    from penstock.console.records.asked import Asked
    from penstock.console.records.masking import Masking
    from penstock.console.records.wanted import Wanted
    from penstock.kafka import Isolation, Record
    from penstock.registry.client import RegistryClient

Kept = TypeVar("Kept")

_REGISTRY_SECONDS = 3.0
_MEBI = 1024 * 1024


def page_limits(asked: Asked) -> Limits:
    """Return what one page may cost: an answer is expected at once."""
    if asked.wanted.is_everything:
        return Limits(found=asked.count, records=10_000, byte_count=256 * _MEBI, seconds=8.0)
    return Limits(found=asked.count, records=1_000_000, byte_count=256 * _MEBI, seconds=2.0)


def search_limits(asked: Asked) -> Limits:
    """Return what a search may cost that tells how far it is and can be cancelled."""
    return Limits(found=asked.count, records=10_000_000, byte_count=4096 * _MEBI, seconds=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic through the eyes of who asks, as long as a request is answered."""

    ask: Ask
    name: TopicName
    masking: Masking
    recognizer: Recognizer
    registry: RegistryClient | None

    def seen(self, record: Record) -> SeenRecord:
        """Return what may be seen of a record."""
        return SeenRecord(record, self.recognizer, self.masking)

    def record(self, partition: int, offset: int, isolation: Isolation) -> Record:
        """Return one record, as it is stored.

        Raises:
            RecordNotThereError: there is none.
            ClusterError: another subclass, for what else went wrong.
        """
        connection = self.ask.world.connection
        return find_record(connection, self.name, partition, offset, isolation=isolation)

    def scan(
        self,
        asked: Asked,
        limits: Limits,
        keep: Callable[[SeenRecord, Record], Kept],
        *,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Scan[Kept]:
        """Return a scan for what was asked; `keep` says what is kept of what was found.

        Raises:
            UsageError: it cannot be understood, or asks for what is hidden.
        """
        wanted = asked.wanted
        wanted.require_visible(self.masking)

        def select(record: Record) -> Kept | None:
            seen = self.seen(record)
            return keep(seen, record) if wanted.matches(seen) else None

        return Scan(
            self.ask.world.connection,
            self.name,
            asked.place,
            partitions=asked.partitions,
            key=self._deciding_key(asked, wanted),
            isolation=asked.isolation,
            select=select,
            limits=limits,
            is_stopped=is_stopped,
        )

    def _deciding_key(self, asked: Asked, wanted: Wanted) -> bytes | None:
        """Return the key by which a partition is chosen: keys that are text, as they are sent."""
        if wanted.key is None or asked.everywhere or asked.partitions:
            return None
        return None if self._has_key_schema() else wanted.key.encode("utf-8", "replace")

    def _has_key_schema(self) -> bool:
        """Whether keys are encoded, or nobody knows: looking everywhere is never wrong."""
        if self.registry is None:
            return False
        from penstock.registry.client import NotRegisteredError

        try:
            self.registry.version(Place(topic=self.name, side=Side.KEY).subject)
        except NotRegisteredError:
            return False
        except PenstockError:
            return True
        return True


@contextmanager
def opened_topic(ask: Ask) -> Iterator[Topic]:
    """Yield the topic that the path names; a registry that is away is no reason to show nothing.

    Raises:
        NotAllowedError: it is Kafka's or Penstock's own. What drivers say of themselves there
            quotes failures, and those may quote records.
    """
    from penstock.registry.client import RegistryClient

    name = TopicName(ask.path["topic"])
    if is_internal(name) and ask.user.role < Role.OPERATOR:
        raise NotAllowedError(ask.user.name, role=ask.user.role.word, needed=Role.OPERATOR.word)
    place = ask.world.place
    masking = masking_for(place.masks, name, may_see=lambda role: ask.user.role >= Role.parse(role))
    if place.registry is None:
        yield Topic(ask=ask, name=name, masking=masking, recognizer=Recognizer(None), registry=None)
        return
    address = replace(place.registry, timeout_seconds=_REGISTRY_SECONDS)
    with RegistryClient(address) as registry:
        yield Topic(
            ask=ask,
            name=name,
            masking=masking,
            recognizer=Recognizer(registry),
            registry=registry,
        )
