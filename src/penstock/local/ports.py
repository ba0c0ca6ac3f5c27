"""Ports on this machine: which are free, and who holds one that is not."""

import random
import socket

import psutil

from penstock.errors import PenstockError

HOST = "127.0.0.1"

# Below the range from which systems choose the local port of outgoing connections (32768 on
# Linux, 49152 elsewhere): a port from there could be taken by any client while a broker restarts.
_CHOICES = range(10_000, 32_000)
_handed_out: set[int] = set()
"""Free they all were, and stay for seconds: until whoever they are for listens."""


class PortInUseError(PenstockError):
    """A port that a broker needs is held by another process."""

    code = "PEN-502"

    def __init__(self, port: int, *, holder: str) -> None:
        super().__init__(
            f"port {port} is held by {holder}",
            hint="stop that process, or choose others: `penstock up --port 0` takes free ones",
        )
        self.port = port


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last connections are only winding down counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> tuple[int, ...]:
    """Return `count` different ports that are free now, at random to keep neighbors apart.

    A process is never given the same port twice.
    """
    found: set[int] = set()
    while len(found) < count:
        port = random.choice(_CHOICES)  # noqa: S311 - nothing secret about a port
        if port not in _handed_out and is_free(port):
            _handed_out.add(port)
            found.add(port)
    return tuple(sorted(found))


def holder_of(port: int) -> str:
    """Return who listens on `port`, as a phrase for people: "process 4711 (java)"."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return "another process"
    pids = [
        connection.pid
        for connection in connections
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port == port
    ]
    if not pids or pids[0] is None:
        return "a process of another user"
    try:
        return f"process {pids[0]} ({psutil.Process(pids[0]).name()})"
    except psutil.Error:
        return f"process {pids[0]}"


def is_listening(pid: int, port: int) -> bool:
    """Return whether the process `pid` listens on `port`."""
    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return False
    return any(
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        for connection in connections
        if connection.laddr
    )


def require_free(ports: tuple[int, ...]) -> None:
    """Check that every port can be used.

    Raises:
        PortInUseError: for the first that cannot, with its holder.
    """
    for port in ports:
        if not is_free(port):
            raise PortInUseError(port, holder=holder_of(port))
