"""Nobody there: the error names the address, what was tried, and comes in time."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic import SecretStr

from penstock.kafka import Admin, ClusterUnreachableError, Connection, WireError, describe_cluster
from penstock.kafka.cluster.quorum import finalized_features
from penstock.kafka.cluster.wire import Reader, Request, ask
from penstock.kafka.reachability import Address
from penstock.settings import ClusterSettings

PATIENCE = ClusterSettings(request_timeout_seconds=1.5)


@contextmanager
def silent_listener() -> Iterator[int]:
    """A port that accepts connections, and behind which no Kafka answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_refused_connection_is_told_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    address = f"127.0.0.1:{free_port()}"
    started = time.monotonic()

    with pytest.raises(ClusterUnreachableError) as caught:
        Admin(Connection(bootstrap=address)).metadata()

    assert time.monotonic() - started < 8
    assert caught.value.message == (
        f"no Kafka broker answered at `{address}`: tried to connect (connection refused)"
    )
    assert capfd.readouterr() == ("", "")


def test_a_silent_address_is_given_up_within_the_time_of_a_request(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with silent_listener() as port:
        admin = Admin(Connection(bootstrap=f"127.0.0.1:{port}", security=PATIENCE))
        started = time.monotonic()

        with pytest.raises(ClusterUnreachableError) as caught:
            describe_cluster(admin)

    assert time.monotonic() - started < PATIENCE.request_timeout_seconds + 8
    assert caught.value.message == (
        f"no Kafka broker answered at `127.0.0.1:{port}`: tried to ask for brokers and topics "
        "(no usable answer within 1.5 s)"
    )
    assert capfd.readouterr() == ("", "")


def test_an_unknown_host_is_told_by_name() -> None:
    with pytest.raises(ClusterUnreachableError) as caught:
        Admin(Connection(bootstrap="no-such-host.invalid:9092")).metadata()

    assert caught.value.message.endswith("(the name `no-such-host.invalid` is unknown)")


def test_one_address_of_several_that_works_is_enough(connection: Connection) -> None:
    both = f"127.0.0.1:{free_port()},{connection.bootstrap}"

    assert sorted(Admin(Connection(bootstrap=both)).metadata().brokers) == [1]


def test_a_plain_request_to_a_silent_address_fails_in_time() -> None:
    request = Request(api_key=18, api_version=3, body=b"")

    with silent_listener() as port, pytest.raises(WireError):
        ask(Address("127.0.0.1", port), request, Reader.int16, timeout_seconds=0.2)


def test_features_of_a_broker_that_does_not_answer_are_unknown(connection: Connection) -> None:
    admin = Admin(connection)

    assert finalized_features(admin, Address("127.0.0.1", free_port())) is None


def test_a_login_at_a_silent_address_is_given_up_within_the_time_of_a_request() -> None:
    security = ClusterSettings(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password=SecretStr("any"),
        request_timeout_seconds=1.5,
    )
    with silent_listener() as port:
        started = time.monotonic()

        with pytest.raises(ClusterUnreachableError) as caught:
            Admin(Connection(bootstrap=f"127.0.0.1:{port}", security=security)).metadata()

    assert time.monotonic() - started < security.request_timeout_seconds + 8
    assert caught.value.message == (
        f"no Kafka broker answered at `127.0.0.1:{port}`: tried to log in "
        "(no usable answer within 1.5 s)"
    )
