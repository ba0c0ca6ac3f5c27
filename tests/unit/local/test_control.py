import json
import os
import socket

import pytest

from penstock.local.control import (
    BrokerState,
    BrokerStatus,
    ControlPort,
    Reply,
    Request,
    SupervisorSilentError,
    Verb,
    WebStatus,
    ask,
)
from penstock.local.folder import Contact
from penstock.names import BrokerId

STATUS = BrokerStatus(broker_id=BrokerId(1), port=9092, state=BrokerState.RUNNING, pid=7)
REGISTRY = WebStatus(
    name="registry", port=8081, url="http://127.0.0.1:8081", state=BrokerState.STARTING
)


def test_requests_and_answers_arrive_whole() -> None:
    heard: list[tuple[Verb, BrokerId | None]] = []

    def answer(request: Request) -> Reply:
        heard.append((request.verb, request.broker_id))
        return Reply(brokers=(STATUS,), web=(REGISTRY,), refusal="no")

    contact = ControlPort(answer).contact(os.getpid())

    expected = Reply(brokers=(STATUS,), web=(REGISTRY,), refusal="no")
    assert ask(contact, Verb.KILL, BrokerId(1)) == expected
    assert heard == [(Verb.KILL, BrokerId(1))]


@pytest.mark.parametrize("line", [b"\n", b"nonsense\n", b'{"verb": "stop"}\n'])
def test_strangers_get_no_answer(line: bytes) -> None:
    contact = ControlPort(lambda _: pytest.fail("must not be asked")).contact(os.getpid())

    with socket.create_connection(("127.0.0.1", contact.port), timeout=5) as link:
        link.sendall(line)
        assert link.recv(100) == b""


def test_a_wrong_secret_gets_no_answer() -> None:
    contact = ControlPort(lambda _: pytest.fail("must not be asked")).contact(os.getpid())
    request = {"verb": "shut down", "token": "guess", "broker_id": None}

    with socket.create_connection(("127.0.0.1", contact.port), timeout=5) as link:
        link.sendall(json.dumps(request).encode() + b"\n")
        assert link.recv(100) == b""


def test_nobody_there_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    gone = Contact(pid=4711, port=port, token="secret")  # noqa: S106 - not a real one

    with pytest.raises(SupervisorSilentError, match="process 4711"):
        ask(gone, Verb.STATUS)
