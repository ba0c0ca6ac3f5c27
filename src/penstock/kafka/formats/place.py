"""Where in a topic's records a format is used, and the options of confluent-kafka for that."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.kafka.formats.errors import UndecodableRecordError
from penstock.names import Subject, TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from confluent_kafka.serialization import SerializationContext

    from penstock.kafka.records import Header

READING: Mapping[str, Any] = {"subject.name.strategy.type": "TOPIC"}
WRITING: Mapping[str, Any] = {
    **READING,
    # The schema was registered or found before the first record: none changes it.
    "auto.register.schemas": False,
    "use.latest.version": True,
}


_PREFIX_BYTES = 5  # a magic byte, and the id as four bytes
_MAGIC_BYTES = (0, 1)  # an id follows, or a GUID


class Side(StrEnum):
    """The key or the value of records."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One side of the records of a topic."""

    topic: TopicName
    side: Side

    @property
    def subject(self) -> Subject:
        """The subject of its schemas, by the topic name strategy."""
        return Subject(f"{self.topic}-{self.side}")

    def context(self, headers: Sequence[Header] = ()) -> SerializationContext:
        """Return what confluent-kafka's serializers need to know about a record."""
        from confluent_kafka.serialization import MessageField, SerializationContext

        pairs: list[tuple[str, str | bytes | None]] = [
            (header.name, header.value) for header in headers
        ]
        return SerializationContext(self.topic, MessageField(self.side.value), pairs)

    def require_schema_id(self, data: bytes, headers: Sequence[Header]) -> None:
        """Refuse bytes that cannot have been written with a registry.

        Raises:
            UndecodableRecordError: they do not begin with a schema id, nor has a header one.
        """
        if any(header.name == f"__{self.side}_schema_id" for header in headers):
            return
        if len(data) < _PREFIX_BYTES:
            reason = f"it has {len(data)} bytes, and a schema id alone takes {_PREFIX_BYTES}"
            raise UndecodableRecordError(reason)
        if data[0] not in _MAGIC_BYTES:
            raise UndecodableRecordError(reason="it does not begin with a schema id")


@contextmanager
def decoding(place: Place, data: bytes, headers: Sequence[Header]) -> Iterator[None]:
    """Tell bytes that cannot be read from a registry that does not answer.

    Whatever a decoder stumbles over in bytes of another origin is a fault of these bytes; errors
    of ours are about the registry, and pass.
    """
    place.require_schema_id(data, headers)
    try:
        yield
    except PenstockError:
        raise
    except Exception as err:
        raise UndecodableRecordError(str(err) or type(err).__name__) from err
