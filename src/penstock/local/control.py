"""How commands reach the supervisor: one JSON line each way over a loopback connection.

The port and a secret stand in `supervisor.json`, which only the user can read. (A Unix socket would
need neither, but its path may have no more than about a hundred characters.)
"""

import json
import secrets
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from threading import Thread

from penstock.errors import PenstockError
from penstock.local.folder import Contact
from penstock.local.ports import HOST
from penstock.names import BrokerId

_TIMEOUT_SECONDS = 5
_LARGEST_REQUEST = 64 * 1024


class SupervisorSilentError(PenstockError):
    """The supervisor of a platform is there and does not answer."""

    code = "PEN-504"
    retryable = True

    def __init__(self, contact: Contact | None, *, reason: str) -> None:
        process = f"process {contact.pid}" if contact else "its process"
        super().__init__(
            f"the platform's supervisor ({process}) does not answer: {reason}",
            hint="`penstock down` ends it and its brokers; the data stays",
        )


class Verb(StrEnum):
    """What the supervisor can be asked."""

    STATUS = "status"
    SHUT_DOWN = "shut down"
    START = "start"
    STOP = "stop"
    KILL = "kill"
    FIT_SPARK = "fit spark"
    """Run the Spark cluster that is recorded, and no other part of one."""

    START_WEB_PARTS = "start web parts"
    """Run the registry and the console that are recorded, unless they run."""


class BrokerState(StrEnum):
    """Where a broker, a web server, or a process of Spark, is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    RESTARTING = "waiting to restart"
    ORPHANED = "running without a supervisor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question or command."""

    verb: Verb
    token: str
    broker_id: BrokerId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """What the supervisor knows of one broker."""

    broker_id: BrokerId
    port: int
    state: BrokerState
    metrics_port: int = 0
    """Where it shows its metrics; 0: an older version started it, without."""

    pid: int | None = None
    since: str = ""
    restarts: int = 0
    last_exit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkStatus:
    """What the supervisor knows of one process of the Spark cluster."""

    name: str
    port: int
    ui: str
    state: BrokerState
    pid: int | None = None
    since: str = ""
    restarts: int = 0
    last_exit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebStatus:
    """What the supervisor knows of the schema registry, or of the console."""

    name: str
    port: int
    url: str
    state: BrokerState
    pid: int | None = None
    since: str = ""
    restarts: int = 0
    last_exit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The supervisor's answer: `refusal` says why not, if not."""

    brokers: tuple[BrokerStatus, ...] = ()
    spark: tuple[SparkStatus, ...] = ()
    web: tuple[WebStatus, ...] = ()
    refusal: str | None = None


def ask(contact: Contact | None, verb: Verb, broker_id: BrokerId | None = None) -> Reply:
    """Send one command to the supervisor and return its answer.

    Raises:
        SupervisorSilentError: nobody answered within five seconds.
    """
    if contact is None:
        raise SupervisorSilentError(None, reason="it has not said where it listens")
    request = Request(verb=verb, token=contact.token, broker_id=broker_id)
    try:
        with socket.create_connection((HOST, contact.port), timeout=_TIMEOUT_SECONDS) as link:
            link.sendall(_encoded(request))
            return _decoded_reply(link.makefile("rb").readline())
    except (OSError, ValueError, TypeError, KeyError) as err:
        raise SupervisorSilentError(contact, reason=_first_line(err)) from err


class ControlPort:
    """The supervisor's end: listens, checks the secret, hands requests on."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self._answer = answer
        self._token = secrets.token_hex(16)
        self._socket = socket.create_server((HOST, 0))
        Thread(target=self._serve, name="control", daemon=True).start()

    def contact(self, pid: int) -> Contact:
        """Return what a client needs to know."""
        return Contact(pid=pid, port=self._socket.getsockname()[1], token=self._token)

    def _serve(self) -> None:
        while True:
            link, _ = self._socket.accept()
            Thread(target=self._handle, args=(link,), name="request", daemon=True).start()

    def _handle(self, link: socket.socket) -> None:
        link.settimeout(_TIMEOUT_SECONDS)
        with link:
            try:
                line = link.makefile("rb").readline(_LARGEST_REQUEST)
                request = _decoded_request(line)
                if secrets.compare_digest(request.token, self._token):
                    link.sendall(_encoded(self._answer(request)))
            except (OSError, ValueError, TypeError, KeyError):
                return  # a stranger, or a client that has gone: no answer is owed


def _decoded_request(line: bytes) -> Request:
    fields = json.loads(line)
    return Request(**fields | {"verb": Verb(fields["verb"])})


def _decoded_reply(line: bytes) -> Reply:
    fields = json.loads(line)
    brokers = tuple(
        BrokerStatus(**broker | {"state": BrokerState(broker["state"])})
        for broker in fields["brokers"]
    )
    spark = tuple(
        SparkStatus(**node | {"state": BrokerState(node["state"])}) for node in fields["spark"]
    )
    web = tuple(WebStatus(**part | {"state": BrokerState(part["state"])}) for part in fields["web"])
    return Reply(brokers=brokers, spark=spark, web=web, refusal=fields["refusal"])


def _encoded(message: Request | Reply) -> bytes:
    return json.dumps(asdict(message)).encode() + b"\n"


def _first_line(err: Exception) -> str:
    return str(err).splitlines()[0] if str(err) else type(err).__name__
