"""Users and passwords: the file, and who gets in."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from penstock.registry.access import BasicAuth, load_users, user_line
from penstock.registry.serving_errors import UsersFileError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Message, Receive, Scope, Send


def users_file(folder: Path, text: str) -> Path:
    path = folder / "users.txt"
    path.write_text(text, encoding="utf-8")
    return path


def basic(text: str) -> bytes:
    return b"Basic " + b64encode(text.encode())


async def welcome(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def asked(app: BasicAuth, authorization: bytes | None) -> Message:
    """Return how the response begins."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [] if authorization is None else [(b"authorization", authorization)]
    scope = {"type": "http", "method": "GET", "path": "/subjects", "headers": headers}
    asyncio.run(app(scope, receive, send))
    return sent[0]


def test_who_is_in_the_file_gets_in_with_the_right_password_only(tmp_path: Path) -> None:
    lines = [user_line("ada", "größer:geheim"), "# a comment", "", user_line("bob", "other")]
    app = BasicAuth(welcome, load_users(users_file(tmp_path, "\n".join(lines))))

    tried = [
        basic("ada:größer:geheim"),
        basic("ada:größer:geheim"),
        basic("bob:größer:geheim"),
        basic("eve:other"),
        basic("ada"),
        b"Basic %%%",
        b"Bearer x",
        None,
    ]
    assert [asked(app, item)["status"] for item in tried] == [
        200,
        200,
        401,
        401,
        401,
        401,
        401,
        401,
    ]


def test_who_does_not_get_in_is_asked_for_a_password(tmp_path: Path) -> None:
    app = BasicAuth(welcome, load_users(users_file(tmp_path, user_line("ada", "secret"))))

    headers = dict(asked(app, None)["headers"])

    assert headers[b"www-authenticate"] == b'Basic realm="schema registry"'
    assert headers[b"content-type"] == b"application/vnd.schemaregistry.v1+json"


def test_a_line_does_not_tell_the_password() -> None:
    assert "secret" not in user_line("ada", "secret")
    assert user_line("ada", "secret") != user_line("ada", "secret"), "salted"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("# nobody\n", None),
        ("ada:secret\n", 1),
        ("# first\nada:scrypt:x:8:1:00:00\n", 2),
        ("ada:scrypt:3:8:1:00:00\n", 1),
        ("ada:scrypt:16384:8:1:zz:00\n", 1),
        (":scrypt:16384:8:1:00:00\n", 1),
    ],
    ids=["empty", "comments", "clear text", "no number", "no power of two", "no hex", "no name"],
)
def test_a_file_that_names_no_users_is_refused_with_the_line(
    tmp_path: Path, text: str, line: int | None
) -> None:
    path = users_file(tmp_path, text)
    with pytest.raises(UsersFileError) as caught:
        load_users(path)
    assert caught.value.origin is not None
    assert (caught.value.origin.file, caught.value.origin.line) == (path, line)
