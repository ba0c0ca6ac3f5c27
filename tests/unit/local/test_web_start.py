"""On which port the web servers of a platform listen."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.local import PlatformNotRunningError, registry_address
from penstock.local.folder import PlatformFolder
from penstock.local.ports import PortInUseError, free_ports
from penstock.local.web_part import CONSOLE, REGISTRY, WebPart
from penstock.local.web_start import record_web_part
from penstock.settings import load_settings


@pytest.fixture
def folder(tmp_path: Path) -> PlatformFolder:
    return PlatformFolder(tmp_path)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def recorded(folder: PlatformFolder, port: int | None, *, any_port: bool = True) -> int:
    record_web_part(folder, REGISTRY, port=port, any_port=any_port)
    return folder.load_web_part(REGISTRY).port


def test_a_wish_is_heard_and_kept(folder: PlatformFolder) -> None:
    wish, other = free_ports(2)
    assert recorded(folder, wish) == wish
    assert [recorded(folder, port) for port in (None, 0, other, None)] == [wish, wish, other, other]


def test_a_wish_that_cannot_be_is_refused(folder: PlatformFolder, taken_port: int) -> None:
    with pytest.raises(PortInUseError) as caught:
        recorded(folder, taken_port)
    assert caught.value.port == taken_port


def test_without_a_wish_it_dodges_who_has_its_port(folder: PlatformFolder, taken_port: int) -> None:
    folder.save_web_part(WebPart(name=REGISTRY, port=taken_port))
    assert recorded(folder, None) != taken_port


def test_its_address_is_what_clients_on_this_machine_can_use() -> None:
    parts = [
        WebPart(name=REGISTRY, port=8081),
        WebPart(name=CONSOLE, port=8090, host="0.0.0.0", secure=True),  # noqa: S104
        WebPart(name=CONSOLE, port=8090, host="::1"),
    ]
    assert [part.url for part in parts] == [
        "http://127.0.0.1:8081",
        "https://127.0.0.1:8090",
        "http://[::1]:8090",
    ]


def test_a_registry_that_an_older_version_recorded_is_found(folder: PlatformFolder) -> None:
    (folder.root / "registry.json").write_text('{"port": 8085}')
    assert folder.load_web_parts() == (WebPart(name=REGISTRY, port=8085),)


def test_without_a_platform_the_hint_names_an_option_that_commands_have(tmp_path: Path) -> None:
    settings = load_settings({"platform.data_dir": str(tmp_path)}, start=tmp_path)

    with pytest.raises(PlatformNotRunningError) as raised:
        registry_address(settings)

    assert raised.value.hint == (
        "`penstock up` starts it; `--registry URL` or `registry.url` names another registry"
    )
