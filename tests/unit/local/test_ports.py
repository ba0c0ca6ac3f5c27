import os
import socket

import pytest

from penstock.local.ports import (
    PortInUseError,
    free_ports,
    holder_of,
    is_free,
    is_listening,
    require_free,
)


def test_free_ports_are_different_and_outside_the_range_of_clients() -> None:
    ports = free_ports(6)

    assert len(set(ports)) == 6
    assert max(ports) < 32_768
    require_free(ports)


def test_a_free_port_is_handed_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.local.ports._CHOICES", free_ports(6))
    monkeypatch.setattr("penstock.local.ports._handed_out", set())
    first, second = free_ports(3), free_ports(3)

    assert not {*first} & {*second}


def test_a_held_port_names_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        assert not is_free(port)
        assert holder_of(port).startswith(f"process {os.getpid()} (")
        assert is_listening(os.getpid(), port)
        with pytest.raises(PortInUseError) as caught:
            require_free((port,))

    assert caught.value.port == port
    assert is_free(port)
    assert not is_listening(os.getpid(), port)
