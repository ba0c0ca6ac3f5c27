"""The pages of schemas over a real registry."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import uuid4

import pytest

from penstock.names import Subject
from penstock.registry.client import RegistryAddress, RegistryClient
from penstock.schemas import Level, SchemaText, SchemaType
from support.consoles import followed, proof_in, running_console
from support.terminal import line_on, understood
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from starlette.testclient import TestClient

    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}
HOSTILE = '"><script>alert(1)</script>'


def _record(*fields: Mapping[str, object], doc: str = HOSTILE) -> str:
    return json.dumps({"type": "record", "name": "Order", "doc": doc, "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": "none"}


@pytest.fixture(scope="module")
def registry(registry_url: str) -> Iterator[RegistryClient]:
    client = RegistryClient(RegistryAddress(url=registry_url))
    yield client
    client.close()


@pytest.fixture(scope="module")
def console(
    kafka: KafkaCluster, registry_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    folder, address = tmp_path_factory.mktemp("console"), RegistryAddress(url=registry_url)
    with running_console(kafka.connection, folder, registry=address) as client:
        yield client


@pytest.fixture
def subject(registry: RegistryClient) -> Subject:
    """A subject of two versions, whose name is hostile."""
    name = Subject(f"orders/{HOSTILE}{uuid4().hex}-value")
    for fields in ((ID,), (ID, NOTE)):
        registry.register(name, SchemaText(type=SchemaType.AVRO, text=_record(*fields)))
    return name


def _at(subject: Subject, verb: str = "subject") -> str:
    return f"/schemas/{verb}/{quote(subject, safe='')}"


@pytest.mark.long
def test_all_subjects_are_listed(console: TestClient, subject: Subject) -> None:
    def found() -> list[dict[str, object]]:
        answer = console.get("/schemas", params={"q": subject}, headers=JSON)
        items: list[dict[str, object]] = answer.json()["subjects"]["items"]
        return items

    eventually(found, within_seconds=30)

    assert found()[0]["versions"] == 2
    page = console.get("/schemas", params={"q": subject}).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_version_is_shown_beside_the_one_before(console: TestClient, subject: Subject) -> None:
    page, twin = console.get(_at(subject)), console.get(_at(subject), headers=JSON).json()

    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert (twin["version"], twin["versions"], twin["level"]) == (2, [1, 2], "BACKWARD")
    assert (twin["comparison"]["left"], twin["comparison"]["right"]) == (1, 2)
    assert any("note" in change for change in twin["comparison"]["changes"])
    added = [row["right"] for row in twin["comparison"]["rows"] if row["kind"] == "added"]
    assert any("note" in line for line in added)
    first = console.get(_at(subject) + "?version=1", headers=JSON).json()
    assert (first["version"], first["comparison"]) == (1, None)


def test_a_subject_that_is_not_there_is_told(console: TestClient) -> None:
    answer = console.get("/schemas/subject/nothing-of-this", headers=JSON)

    assert answer.status_code == 404
    assert "nothing-of-this" in answer.json()["message"]


def test_a_schema_is_tested_and_nothing_registered(
    console: TestClient, subject: Subject, registry: RegistryClient
) -> None:
    page = console.get(_at(subject, "test"))
    assert "note" in page.text
    bad = _record(ID, NOTE, {"name": "price", "type": "double"})
    asked = {"_ask": "1", "_proof": proof_in(page.text), "text": bad, "type": "AVRO"}

    found = console.post(_at(subject, "test"), data=asked)

    assert "cannot follow version 2" in found.text
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in found.text
    assert "price" in found.text
    del asked["_ask"]
    assert console.post(_at(subject, "test"), data=asked).status_code == 422
    assert registry.versions(subject) == [1, 2]


def test_a_fitting_schema_is_registered_after_the_question(
    console: TestClient, subject: Subject, registry: RegistryClient
) -> None:
    page = console.get(_at(subject, "register"))
    good = _record(ID, NOTE, {"name": "price", "type": "double", "default": 0})
    form = {"_proof": proof_in(page.text), "text": good, "type": "AVRO"}

    asked = console.post(_at(subject, "register"), data={**form, "_ask": "1"})
    assert "It may follow version 2" in asked.text
    assert registry.versions(subject) == [1, 2]
    done = console.post(_at(subject, "register"), data=form)

    assert (done.status_code, done.headers["location"]) == (303, _at(subject).replace("%2F", "/"))
    assert registry.versions(subject) == [1, 2, 3]
    after = console.get(done.headers["location"])
    assert "Registered for orders/" in after.text


def test_a_change_may_add_a_reference_to_another_schema(
    console: TestClient, subject: Subject, registry: RegistryClient
) -> None:
    address = json.dumps(
        {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
    )
    other = Subject(f"address-{uuid4().hex}")
    registry.register(other, SchemaText(type=SchemaType.AVRO, text=address))
    to = {"name": "to", "type": ["null", "Address"], "default": None}
    form = {"text": _record(ID, NOTE, to), "type": "AVRO"}

    def asked(verb: str, **fields: str) -> str:
        proof = proof_in(console.get(_at(subject, verb)).text)
        sent = {**form, **fields, "_ask": "1", "_proof": proof}
        return console.post(_at(subject, verb), data=sent).text

    assert "Register" not in asked("test")
    unreadable = asked("test", references="Address is elsewhere")
    assert "is not written as name=subject:version" in unreadable
    form["references"] = f"Address={other}:1\r\n"
    assert "It may follow version 2" in asked("test")
    assert "It may follow version 2" in asked("register")
    done = console.post(_at(subject, "register"), json=form, headers=JSON)

    assert done.status_code == 200, done.text
    latest = registry.version(subject)
    assert [(item.name, item.subject, item.version) for item in latest.references] == [
        ("Address", other, 1)
    ]
    assert f">Address={other}:1</textarea>" in console.get(_at(subject, "register")).text
    assert other in console.get(_at(subject)).text


def test_a_new_subject_is_registered_with_its_first_schema(
    console: TestClient, registry: RegistryClient
) -> None:
    name = Subject(f"new-{uuid4().hex}-value")
    form = {"subject": name, "text": _record(ID), "type": "AVRO"}
    form["_proof"] = proof_in(console.get("/schemas/new").text)

    asked = console.post("/schemas/new", data={**form, "_ask": "1"})
    assert "It would be the first version" in asked.text
    done = console.post("/schemas/new", data=form)

    assert (done.status_code, done.headers["location"]) == (303, "/schemas")
    assert registry.versions(name) == [1]

    def is_listed() -> bool:
        return bool(console.get(f"/schemas?q={name}", headers=JSON).json()["subjects"]["total"])

    # While nobody follows a page, the registry is asked every fifteen seconds.
    eventually(is_listed, within_seconds=10)


def test_whoever_has_a_subject_open_sees_its_next_version(
    console: TestClient, registry: RegistryClient, subject: Subject
) -> None:
    with followed(console, _at(subject), within_seconds=30) as shown:
        assert "2 versions" in next(shown)
        text = _record(ID, NOTE, {"name": "more", "type": "long", "default": 0})
        registry.register(subject, SchemaText(type=SchemaType.AVRO, text=text))
        after = next(page for page in shown if "3 versions" in page)

    assert "From version 2 to 3" in after


def test_the_lines_for_a_terminal_are_commands_that_exist(
    console: TestClient, subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The subject has quotes and brackets that shells would read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.avsc").touch()
    schema = {"text": _record(ID, NOTE, {"name": "price", "type": "long", "default": 0})}

    def parameters(verb: str, **fields: str) -> dict[str, object]:
        place = _at(subject, verb)
        asked = {**fields, "_ask": "1", "_proof": proof_in(console.get(place).text)}
        page = console.post(place, data=asked) if fields else console.get(place)
        line = line_on(page.text)
        assert line is not None
        return understood(line)

    shown = parameters("subject")
    assert (shown["subject"], shown["version"]) == (subject, 2)
    assert parameters("test", **schema)["names"] == (subject,)
    assert parameters("register", **schema)["subject"] == subject
    changed = parameters("level", level="FULL")
    assert (changed["subject"], str(changed["level"]).upper()) == (subject, "FULL")
    deleted = parameters("delete/1")
    assert (deleted["subject"], deleted["version"]) == (subject, 1)


def test_a_level_is_set_and_told_on_the_trail(
    console: TestClient, subject: Subject, registry: RegistryClient
) -> None:
    answer = console.post(_at(subject, "level"), json={"level": "FULL"}, headers=JSON)

    assert answer.status_code == 200
    assert registry.level(subject) is Level.FULL


def test_a_version_is_deleted_softly(
    console: TestClient, subject: Subject, registry: RegistryClient
) -> None:
    place = f"/schemas/delete/1/{quote(subject, safe='')}"

    assert "softly" in console.get(place).text
    assert console.post(place, json={}, headers=JSON).status_code == 200
    assert registry.versions(subject) == [2]
    page = console.get(_at(subject)).text
    assert re.search(r"<dt>Version</dt><dd>2 <small>the only one</small>", page)
