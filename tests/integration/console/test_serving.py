"""`penstock console` with users: HTTPS, cookies, and from where somebody is said to ask."""

from __future__ import annotations

import signal
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx2

from penstock.console.access import Role, user_line
from penstock.control.trail import Trail
from support.certificates import own_certificate
from support.commands import Penstock
from support.consoles import proof_in
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster

FORGED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


@contextmanager
def serving(kafka: KafkaCluster, folder: Path, **settings: str) -> Iterator[str]:
    """Run a console in a process of its own, and give its address."""
    environment = {f"PENSTOCK_CONSOLE_{key.upper()}": value for key, value in settings.items()}
    environment["PENSTOCK_PLATFORM_DATA_DIR"] = str(folder / "data")
    process = Penstock(folder, environment).start(
        "console", "--bootstrap", kafka.bootstrap, "--port", "0"
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("the console is ready at "), process.communicate()
        yield said.split()[-1]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def log_in(client: httpx2.Client, name: str, password: str) -> httpx2.Response:
    proof = proof_in(client.get("/login").text)
    entered = {"name": name, "password": password, "next": "/", "_proof": proof}
    answer: httpx2.Response = client.post("/login", data=entered, headers=FORGED)
    return answer


def address_of(kafka: KafkaCluster, name: str) -> str:
    """Return from where somebody has logged in, as the trail has it."""
    trail = Trail(kafka.connection)

    def is_there() -> bool:
        return any(entry.who == name for entry in trail.last(20))

    eventually(is_there, within_seconds=30)
    found = next(entry for entry in trail.last(20) if entry.who == name)
    assert (found.action, found.done, found.role) == ("log_in", "logged in", "operator")
    return found.address


def test_with_a_certificate_it_speaks_https_and_cookies_go_no_other_way(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    name = f"alice-{uuid4().hex[:8]}"
    (tmp_path / "users").write_text(user_line(name, Role.OPERATOR, "secret") + "\n")
    certificate, key = own_certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=certificate)
    settings = {"users": tmp_path / "users", "certificate": certificate, "key": key}
    with (
        serving(kafka, tmp_path, **{key: str(path) for key, path in settings.items()}) as url,
        httpx2.Client(base_url=url, verify=trusted, timeout=30) as client,
    ):
        answer = log_in(client, name, "secret")
        page = client.get("/")
        address = address_of(kafka, name)

    assert url.startswith("https://127.0.0.1:")
    assert answer.status_code == 303
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert cookie.startswith("penstock_session=")
    assert set(attributes) == {"HttpOnly", "Max-Age=86400", "Path=/", "SameSite=Lax", "Secure"}
    assert f"{name}, operator" in page.text
    assert address == "127.0.0.1"


def test_a_proxy_that_the_settings_name_says_who_asks(kafka: KafkaCluster, tmp_path: Path) -> None:
    name = f"alice-{uuid4().hex[:8]}"
    (tmp_path / "users").write_text(user_line(name, Role.OPERATOR, "secret") + "\n")
    with (
        serving(
            kafka,
            tmp_path,
            host="0.0.0.0",  # noqa: S104 - nothing else is a console behind a proxy
            users=str(tmp_path / "users"),
            https_proxies="127.0.0.1",
        ) as url,
        httpx2.Client(base_url=url.replace("0.0.0.0", "127.0.0.1"), timeout=30) as client,  # noqa: S104
    ):
        shown = client.get("/login", headers=FORGED)
        cookie = shown.headers["set-cookie"].partition(";")[0]
        # As the proxy forwards it: a browser keeps the cookie, which came by HTTPS for it.
        answer = client.post(
            "/login",
            data={"name": name, "password": "secret", "_proof": proof_in(shown.text)},
            headers={**FORGED, "Cookie": cookie},
        )
        address = address_of(kafka, name)

    assert answer.status_code == 303
    assert answer.headers["set-cookie"].endswith("Secure")
    assert address == "203.0.113.9"
