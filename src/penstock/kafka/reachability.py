"""Is anybody listening? A plain TCP connection tells at once what the client only times out on."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.kafka.errors import ClusterUnreachableError
from penstock.names import BrokerId

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import ClusterMetadata

    from penstock.kafka.admin import Admin
    from penstock.kafka.connection import Connection

_DEFAULT_PORT = 9092  # what librdkafka assumes for an address without one
# How long a broker may take to accept a connection before it counts as gone.
_CONNECT_SECONDS = 1.0
_MAX_THREADS = 16  # brokers tried at the same time


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`."""
        return f"{self.host}:{self.port}"


class InvalidAddressError(UsageError):
    """A bootstrap address is not `HOST:PORT`."""

    code = "PEN-410"

    def __init__(self, address: str) -> None:
        super().__init__(
            f"`{address}` is not the address of a broker, which looks like `host:9092`",
            hint="correct `--bootstrap`, or `bootstrap` in the profile; "
            "`penstock config show` says where it came from",
        )


def ensure_reachable(connection: Connection) -> None:
    """Return when one bootstrap address accepts a connection.

    Whether a Kafka broker lives there, the first request tells.

    Raises:
        InvalidAddressError: an address is not `host:port`.
        ClusterUnreachableError: none accepts within the time a request may take.
    """
    addresses = bootstrap_addresses(connection.bootstrap)
    seconds = connection.request_timeout_seconds / len(addresses)
    reasons = []
    for address in addresses:
        reason = _refusal(address, seconds)
        if reason is None:
            return
        reasons.append(reason)
    raise ClusterUnreachableError(
        connection.bootstrap, tried="tried to connect", reason="; ".join(dict.fromkeys(reasons))
    )


def accepts(address: Address) -> bool:
    """Whether something listens at an address."""
    return _refusal(address, _CONNECT_SECONDS) is None


def reachable_brokers(
    admin: Admin, metadata: ClusterMetadata | None = None
) -> dict[BrokerId, Address]:
    """Return the brokers that accept a connection now, in the order of their ids.

    For seconds after a broker has died the others still name it; requests to it would wait.

    Args:
        admin: the cluster.
        metadata: what it has said a moment ago; asked for when not given.
    """
    metadata = metadata or admin.metadata()
    known = {
        BrokerId(broker.id): Address(str(broker.host), broker.port)
        for broker in metadata.brokers.values()
    }
    with ThreadPoolExecutor(max_workers=_MAX_THREADS) as pool:
        answers = zip(known, pool.map(accepts, known.values()), strict=True)
        there = {broker for broker, accepted in answers if accepted}
    return {broker: known[broker] for broker in sorted(there)}


def bootstrap_addresses(bootstrap: str) -> list[Address]:
    """Return each address of a comma-separated list.

    Raises:
        InvalidAddressError: an address is not `host:port`.
    """
    return [_parsed(address.strip()) for address in bootstrap.split(",")]


def _parsed(address: str) -> Address:
    # librdkafka accepts `PROTOCOL://` before the host, as Java's listeners have it.
    plain = address.rpartition("://")[2]
    host, separator, port = plain.rpartition(":") if not plain.endswith("]") else (plain, "", "")
    host, port = (host, port) if separator else (plain, str(_DEFAULT_PORT))
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidAddressError(address)
    return Address(host.strip("[]"), int(port))


def _refusal(address: Address, seconds: float) -> str | None:
    """Try to connect; return why not, or None."""
    try:
        socket.create_connection((address.host, address.port), timeout=seconds).close()
    except socket.gaierror:
        return f"the name `{address.host}` is unknown"
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except OSError as err:
        return (err.strerror or str(err)).lower()
    return None
