"""The registry's client tells what is not there from a registry that is not there."""

from __future__ import annotations

import base64
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from penstock.errors import PenstockError
from penstock.names import Subject
from penstock.registry.client import (
    NotARegistryError,
    NotRegisteredError,
    RegistryAccessError,
    RegistryAddress,
    RegistryClient,
    RegistryUnavailableError,
    RequestRefusedError,
)
from penstock.schemas import Level, SchemaText, SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterator

STRING = SchemaText(type=SchemaType.AVRO, text='"string"')


@dataclass(slots=True)
class Answering:
    """A server that gives one answer to whatever is asked, and keeps what was asked."""

    status: int
    body: str
    content_type: str = "application/vnd.schemaregistry.v1+json"
    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    hold: threading.Event | None = None


@contextmanager
def answering(answer: Answering) -> Iterator[Answering]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.asked.append((self.path, self.headers["Authorization"]))
            if answer.hold is not None:
                answer.hold.wait(20)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.end_headers()
            self.wfile.write(answer.body.encode())

        def log_message(self, *_: Any) -> None:  # noqa: ANN401 - their signature
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            answer.url = f"http://127.0.0.1:{server.server_address[1]}"
            yield answer
        finally:
            if answer.hold is not None:
                answer.hold.set()
            server.shutdown()
            thread.join()


def asked_by_id(url: str, **address: Any) -> PenstockError:  # noqa: ANN401 - of any address
    with (
        RegistryClient(RegistryAddress(url=url, **address)) as client,
        pytest.raises(PenstockError, match=url) as caught,
    ):
        client.find_by_id(7)
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "expected", "retryable"),
    [
        (404, "<html>not here</html>", NotARegistryError, False),
        (404, '{"detail": "Not Found"}', NotARegistryError, False),
        (200, "<html>hello</html>", NotARegistryError, False),
        (200, '{"id": 7}', NotARegistryError, False),
        (401, "", RegistryAccessError, False),
        (403, "", RegistryAccessError, False),
        (500, '{"error_code": 50003, "message": "no leader"}', RegistryUnavailableError, True),
        (503, "", RegistryUnavailableError, True),
        (429, "", RegistryUnavailableError, True),
        (422, '{"error_code": 42201, "message": "no"}', RequestRefusedError, False),
    ],
    ids=lambda item: str(item)[:30] if isinstance(item, int | str) else "",
)
def test_only_the_registrys_own_word_says_that_a_schema_does_not_exist(
    status: int, body: str, expected: type[PenstockError], *, retryable: bool
) -> None:
    with answering(Answering(status, body)) as answer:
        error = asked_by_id(answer.url)

    assert type(error) is expected
    assert error.retryable is retryable


def test_a_404_with_the_registrys_code_is_definite() -> None:
    body = '{"error_code": 40403, "message": "Schema 7 not found"}'
    with (
        answering(Answering(404, body)) as answer,
        RegistryClient(RegistryAddress(url=answer.url)) as client,
    ):
        assert client.find_by_id(7) is None
        with pytest.raises(NotRegisteredError, match="schema id 7 is not in the registry"):
            client.schema_by_id(7)


def test_a_registry_that_is_slow_or_down_is_unavailable() -> None:
    with answering(Answering(200, "[]", hold=threading.Event())) as answer:
        slow = asked_by_id(answer.url, timeout_seconds=0.2)
        url = answer.url
    down = asked_by_id(url)

    assert [type(error) for error in (slow, down)] == [RegistryUnavailableError] * 2


def test_user_and_password_are_sent_and_never_told() -> None:
    with answering(Answering(401, "")) as answer:
        error = asked_by_id(answer.url, username="ann", password=SecretStr("s3cret"))

    (sent,) = [header for _, header in answer.asked]
    assert sent == f"Basic {base64.b64encode(b'ann:s3cret').decode()}"
    assert "s3cret" not in json.dumps(error.as_dict())


def test_subjects_with_any_characters_are_one_step_of_the_address() -> None:
    with (
        answering(Answering(200, "[1]")) as answer,
        RegistryClient(RegistryAddress(url=f"{answer.url}/")) as client,
    ):
        assert client.versions(Subject(":.eu:a/b ä?")) == [1]

    ((path, _),) = answer.asked
    assert path == "/subjects/%3A.eu%3Aa%2Fb%20%C3%A4%3F/versions?deleted=false"


def test_a_real_registry_is_understood(registry_url: str) -> None:
    subject = Subject(f"test-client/ä:{uuid4().hex}")
    with RegistryClient(RegistryAddress(url=registry_url)) as client:
        assert client.find(subject, STRING) is None
        schema_id = client.register(subject, STRING)
        found = client.find(subject, STRING)
        client.set_level(subject, Level.FULL)

        assert found == client.version(subject)
        assert found is not None
        assert (found.id, found.version, found.text) == (schema_id, 1, '"string"')
        assert client.level(subject) is Level.FULL
        assert subject in client.subjects()
        assert client.delete_subject(subject) == [1]
        assert subject not in client.subjects()
        assert subject in client.subjects(deleted=True)


def test_more_subjects_than_a_registry_tells_at_once_are_all_listed(
    registry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.registry.client.client._PAGE", 2)
    subjects = {Subject(f"paged-{uuid4().hex}") for _ in range(5)}
    with RegistryClient(RegistryAddress(url=registry_url)) as client:
        for subject in subjects:
            client.register(subject, SchemaText(type=SchemaType.AVRO, text='"string"'))

        found = [schema.subject for schema in client.latest_schemas()]

    assert subjects <= set(found)
    assert len(found) == len(set(found))
