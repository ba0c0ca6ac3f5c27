"""`penstock console user` and `token`, and what keeps `penstock console` from serving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.console.access import Role, load_users
from penstock.console.access.users import User
from support.certificates import own_certificate
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Outcome


def test_their_lines_make_a_file_of_users(tmp_path: Path) -> None:
    penstock = PenstockInProcess(tmp_path, {})
    user = penstock("console", "user", "alice", "--role", "operator", stdin="right:one\n")
    token = penstock("console", "token", "grafana", "--role", "viewer")
    (tmp_path / "users").write_text(user.stdout + token.stdout)
    said, _, secret = token.stderr.strip().rpartition(" ")

    users = load_users(tmp_path / "users")

    assert (user.status, user.stderr, token.status) == (0, "", 0)
    assert said == "the token of grafana:"
    assert users.of_password("alice", "right:one") == User(name="alice", role=Role.OPERATOR)
    assert users.of_token(secret) == User(name="grafana", role=Role.VIEWER)
    assert "right:one" not in user.stdout
    assert secret not in token.stdout


def test_a_name_a_role_and_a_password_are_needed(tmp_path: Path) -> None:
    penstock = PenstockInProcess(tmp_path, {})
    outcomes = [
        penstock("console", "user", "a:b", "--role", "viewer", stdin="secret\n"),
        penstock("console", "user", "alice", "--role", "king", stdin="secret\n"),
        penstock("console", "user", "alice", stdin="secret\n"),
        penstock("console", "user", "alice", "--role", "viewer", stdin="\n"),
        penstock("console", "token", "", "--role", "viewer"),
    ]

    assert [(item.status, item.stdout) for item in outcomes] == [(2, "")] * 5


@pytest.fixture
def users(tmp_path: Path) -> str:
    (tmp_path / "users").write_text("alice:viewer:token:00\n")
    return str(tmp_path / "users")


def refused(folder: Path, **settings: str) -> Outcome:
    """Return what a console says that would reach no cluster, if it got so far."""
    environment = {f"PENSTOCK_CONSOLE_{key.upper()}": value for key, value in settings.items()}
    console = PenstockInProcess(folder, {"PENSTOCK_BOOTSTRAP": "127.0.0.1:1", **environment})
    return console("console", "--port", "0")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "console.example"])  # noqa: S104
def test_without_users_nobody_else_is_served(tmp_path: Path, host: str) -> None:
    outcome = refused(tmp_path, host=host)

    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error[PEN-772]: the console on `{host}` would be open")


def test_passwords_are_not_taken_over_a_network_without_https(tmp_path: Path, users: str) -> None:
    outcome = refused(tmp_path, host="0.0.0.0", users=users)  # noqa: S104

    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr == (
        "error[PEN-782]: the console on `0.0.0.0` would take passwords over plain HTTP\n\n"
        "hint: set `console.certificate` and `console.key`; or, where a proxy serves HTTPS in "
        "front of it, `console.https_proxies` to its address\n"
    )


def test_a_key_and_its_certificate_belong_together(tmp_path: Path, users: str) -> None:
    certificate, key = map(str, own_certificate(tmp_path))
    alone = refused(tmp_path, users=users, certificate=certificate)
    swapped = refused(tmp_path, users=users, certificate=key, key=certificate)

    assert [(item.status, item.stderr[:14]) for item in (alone, swapped)] == [
        (2, "error[PEN-773]")
    ] * 2


def test_a_proxy_is_an_address_or_a_network(tmp_path: Path, users: str) -> None:
    outcome = refused(tmp_path, host="0.0.0.0", users=users, https_proxies="10.0.0.7,proxy")  # noqa: S104

    assert outcome.status == 2
    assert "console.https_proxies" in outcome.stderr
    assert "'proxy'" in outcome.stderr
