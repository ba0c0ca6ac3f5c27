"""Is anybody listening? A plain TCP connection tells at once what the client only times out on."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.kafka.errors import ClusterUnreachableError

if TYPE_CHECKING:
    from penstock.kafka.connection import Connection

_DEFAULT_PORT = 9092  # what librdkafka assumes for an address without one


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
    for host, port in addresses:
        reason = _refusal(host, port, seconds)
        if reason is None:
            return
        reasons.append(reason)
    raise ClusterUnreachableError(
        connection.bootstrap, tried="tried to connect", reason="; ".join(dict.fromkeys(reasons))
    )


def bootstrap_addresses(bootstrap: str) -> list[tuple[str, int]]:
    """Return host and port of each address in a comma-separated list.

    Raises:
        InvalidAddressError: an address is not `host:port`.
    """
    return [_parsed(address.strip()) for address in bootstrap.split(",")]


def _parsed(address: str) -> tuple[str, int]:
    # librdkafka accepts `PROTOCOL://` before the host, as Java's listeners have it.
    plain = address.rpartition("://")[2]
    host, separator, port = plain.rpartition(":") if not plain.endswith("]") else (plain, "", "")
    host, port = (host, port) if separator else (plain, str(_DEFAULT_PORT))
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidAddressError(address)
    return host.strip("[]"), int(port)


def _refusal(host: str, port: int, seconds: float) -> str | None:
    """Try to connect; return why not, or None."""
    try:
        socket.create_connection((host, port), timeout=seconds).close()
    except socket.gaierror:
        return f"the name `{host}` is unknown"
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except OSError as err:
        return (err.strerror or str(err)).lower()
    return None
