"""What a producer can be told: acknowledgements, compression, batching, limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.kafka.producer.errors import InvalidProducerSettingError

if TYPE_CHECKING:
    from penstock.kafka.connection import Connection

# A topic that was created a moment ago is known to every broker within seconds; the client's own
# thirty would make a misspelt topic name cost half a minute.
_UNKNOWN_TOPIC_PATIENCE_MS = 5_000
# The most that an idempotent producer may have on its way to one broker; the same for the others.
_REQUESTS_IN_FLIGHT = 5
_LONGEST_DELIVERY_SECONDS = 2_147_483  # the client counts milliseconds in 31 bits


class Acks(StrEnum):
    """Who must have a record before it counts as delivered.

    Only `ALL` goes together with idempotence. With `LEADER` and `NONE` a retry may repeat a record
    or change the order; with `LEADER` a record is lost when its leader dies before others have
    copied it; with `NONE` nobody confirms anything and a `Delivery` has no offset.
    """

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class Compression(StrEnum):
    """How batches are compressed."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions:
    """The settings of a producer, checked; see `Producer` for what they mean."""

    acks: Acks
    compression: Compression
    linger_seconds: float
    batch_bytes: int
    buffer_records: int
    buffer_bytes: int
    block_seconds: float
    delivery_timeout_seconds: float
    max_record_bytes: int
    spool_limit_bytes: int
    spooled: bool

    def __post_init__(self) -> None:
        """Refuse what the client would refuse, in our words.

        Raises:
            InvalidProducerSettingError: the first setting that is wrong.
        """
        self._require_between("linger_seconds", 0, 900)
        self._require_between("batch_bytes", 1, 1_000_000_000)
        self._require_between("buffer_records", 1, 10_000_000)
        self._require_between("buffer_bytes", 1_024, 2_000_000_000_000)
        self._require_between("block_seconds", 0, _LONGEST_DELIVERY_SECONDS)
        self._require_between("delivery_timeout_seconds", 0.01, _LONGEST_DELIVERY_SECONDS)
        self._require_between("max_record_bytes", 1_000, 1_000_000_000)
        self._require_between("spool_limit_bytes", 1, 2**62)
        if self.linger_seconds >= self.delivery_timeout_seconds:
            raise InvalidProducerSettingError(
                setting="linger_seconds",
                found=self.linger_seconds,
                expected=f"less than `delivery_timeout_seconds` ({self.delivery_timeout_seconds})",
            )
        if self.spooled and self.acks is not Acks.ALL:
            raise InvalidProducerSettingError(
                setting="acks", found=self.acks.value, expected="`all` with a spool"
            )

    def _require_between(self, setting: str, lowest: float, highest: float) -> None:
        found = getattr(self, setting)
        if not lowest <= found <= highest:
            raise InvalidProducerSettingError(
                setting=setting, found=found, expected=f"between {lowest:g} and {highest:g}"
            )

    def client_config(self, connection: Connection) -> dict[str, str | int | float | bool]:
        """Return the options of confluent-kafka."""
        timeout_ms = round(self.delivery_timeout_seconds * 1000)
        return connection.client_config() | {
            "acks": self.acks.value,
            "enable.idempotence": self.acks is Acks.ALL,
            "max.in.flight.requests.per.connection": _REQUESTS_IN_FLIGHT,
            "partitioner": "murmur2_random",
            "compression.type": self.compression.value,
            "linger.ms": self.linger_seconds * 1000,
            "batch.size": self.batch_bytes,
            "queue.buffering.max.messages": self.buffer_records,
            "queue.buffering.max.kbytes": self.buffer_bytes // 1024,
            "message.max.bytes": self.max_record_bytes,
            # Spooled records are on disk: the client tries without end, and so keeps their order.
            "message.timeout.ms": 0 if self.spooled else timeout_ms,
            "topic.metadata.propagation.max.ms": _UNKNOWN_TOPIC_PATIENCE_MS,
        }
