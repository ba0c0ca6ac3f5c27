"""The record browser over a real cluster: what is shown, found, hidden, exported and produced."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer as Client

from penstock.console.access import Role, load_users, token_line
from penstock.console.records import pages
from penstock.console.records.browsing import page_limits
from penstock.control.trail import Trail
from penstock.kafka import FromBeginning, FromOffset
from penstock.names import Offset
from penstock.registry.client import RegistryAddress
from penstock.settings import MaskSettings
from support.consoles import running_console, served
from support.in_process import PenstockInProcess
from support.producing import Sent, fill, send, send_aborted
from support.raw_records import RawRecord, send_raw
from support.terminal import line_on, understood
from support.topic_contents import topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response
    from starlette.testclient import TestClient

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

JSON = {"Accept": "application/json"}
SCRIPT = "<script>alert(1)</script>"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;"
MASKS = (
    MaskSettings(
        topics="masked-*",
        value=("$.card.number",),
        headers=("token",),
        visible_from="operator",
    ),
    MaskSettings(topics="masked-*", key=("$",), visible_from="admin"),
)
SCHEMAS = {
    "avro": (
        "a.avsc",
        '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}',
    ),
    "json-schema": ("a.json", '{"type":"object","properties":{"id":{"type":"integer"}}}'),
    "protobuf": ("a.proto", 'syntax = "proto3"; message Order { int64 id = 1; }'),
}


@pytest.fixture(scope="module", autouse=True)
def unhurried_pages() -> Iterator[None]:
    """Pages are complete, however long that takes here; people are shown what there is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "page_limits", lambda asked: replace(page_limits(asked), seconds=60.0))
        yield


@pytest.fixture(scope="module")
def console(
    kafka: KafkaCluster, registry_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("console")
    registry = RegistryAddress(url=registry_url)
    with running_console(kafka.connection, folder, registry=registry) as client:
        yield client


class Roles:
    """A console with masks, and a token of each role."""

    def __init__(self, client: TestClient, tokens: dict[Role, str]) -> None:
        self.client, self._tokens = client, tokens

    def get(self, role: Role, url: str, **headers: str) -> Response:
        return self.client.get(url, headers={**JSON, **headers, **self._who(role)})

    def post(self, role: Role, url: str, form: dict[str, object]) -> Response:
        return self.client.post(url, json=form, headers={**JSON, **self._who(role)})

    def _who(self, role: Role) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._tokens[role]}"}


@pytest.fixture(scope="module")
def roles(
    kafka: KafkaCluster, registry_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Roles]:
    folder = tmp_path_factory.mktemp("masked")
    tokens = {role: token_line(role.word, role) for role in Role}
    (folder / "users").write_text("".join(f"{line}\n" for _, line in tokens.values()))
    with running_console(
        kafka.connection,
        folder,
        users=load_users(folder / "users"),
        registry=RegistryAddress(url=registry_url),
        masks=MASKS,
    ) as client:
        yield Roles(client, {role: token for role, (token, _) in tokens.items()})


@pytest.fixture
def penstock(connection: Connection, registry_url: str, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(
        tmp_path,
        {"PENSTOCK_BOOTSTRAP": connection.bootstrap, "PENSTOCK_REGISTRY_URL": registry_url},
    )


def twin(console: TestClient, url: str) -> dict[str, Any]:
    answer = console.get(url, headers=JSON)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def values(page: dict[str, Any]) -> list[str]:
    return [row["value"]["text"] for row in page["rows"]]


def test_the_newest_records_come_first_and_older_ones_are_a_link_away(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(key=f"k{n}", value=f"v{n}", partition=n % 3) for n in range(7)])

    first = twin(console, f"/topics/{topic}/records?size=4")
    second = twin(console, first["older"])
    html = console.get(f"/topics/{topic}/records")

    assert sorted(values(first) + values(second)) == [f"v{n}" for n in range(7)]
    assert second["searched"]["is_complete"]
    assert twin(console, first["newer"])["rows"] == []
    assert sorted(values(twin(console, first["same"]))) == sorted(values(first))
    assert html.status_code == 200
    assert f"penstock consume {topic} --last 50 --details" in html.text
    assert f'href="/topics/{topic}/records/0/0"' in html.text


def test_reading_begins_where_it_was_asked_to(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value=f"v{n}", partition=1) for n in range(5)])
    records = f"/topics/{topic}/records"

    offset = twin(console, f"{records}?start=offset&offset=3&partition=1")
    oldest = twin(console, f"{records}?start=oldest&size=2")
    since = twin(console, f"{records}?start=time&time=1h")

    assert values(offset) == ["v3", "v4"]
    assert values(oldest) == ["v0", "v1"]
    assert values(since) == [f"v{n}" for n in range(5)]
    assert values(twin(console, oldest["newer"])) == ["v2", "v3"]


@pytest.mark.parametrize(
    ("query", "code", "status"),
    [
        ("start=middle", "PEN-760", 400),
        ("start=time&time=soon", "PEN-760", 400),
        ("start=offset&offset=x", "PEN-760", 400),
        ("start=offset&offset=99", "PEN-499", 404),
        ("partition=7", "PEN-411", 404),
        ("partition=a", "PEN-760", 400),
        ("where=amount", "PEN-495", 400),
        ("at=1,2", "PEN-760", 400),
        ("at=1.2&go=up", "PEN-760", 400),
    ],
)
def test_what_cannot_be_understood_is_said_in_one_sentence(
    console: TestClient, topic: TopicName, query: str, code: str, status: int
) -> None:
    answer = console.get(f"/topics/{topic}/records?{query}", headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_topic_that_does_not_exist_is_not_found(console: TestClient) -> None:
    answer = console.get("/topics/no-such-topic/records", headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (404, "PEN-402")


def test_records_are_found_by_key_text_condition_and_header(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    send_raw(
        connection,
        topic,
        [
            RawRecord(
                key=f"user{n % 5}".encode(),
                value=json.dumps({"amount": n, "note": f"note {n}"}).encode(),
                headers=(("trace", str(n).encode()),),
            )
            for n in range(50)
        ],
    )

    def found(query: str) -> set[int]:
        page = twin(console, f"/topics/{topic}/records?{query}")
        return {json.loads(text)["amount"] for text in values(page)}

    assert found("key=user3") == {n for n in range(50) if n % 5 == 3}
    assert found("text=note 4") == {4, *range(40, 50)}
    assert found("where=$.amount >= 48") == {48, 49}
    assert found("header=trace%3D7") == {7}
    assert found("header=trace&where=/amount < 2") == {0, 1}
    assert found("key=user3&text=note 1") == {13, 18}
    by_key = twin(console, f"/topics/{topic}/records?key=user3")
    everywhere = twin(console, f"/topics/{topic}/records?key=user3&everywhere=1")
    assert len(by_key["searched"]["partitions"]) == 1
    assert by_key["searched"]["records"] < 50
    assert everywhere["searched"]["records"] == 50
    assert "the one that Java" in console.get(f"/topics/{topic}/records?key=user3").text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"last": 50}),
        ("?size=7&partition=0,2&uncommitted=1", {"last": 7, "partitions": (0, 2)}),
        ("?start=oldest&text=v1", {"start": FromBeginning(), "grep": "v1", "limit": 50}),
        ("?start=time&time=6h ago&where=$.a > 1", {"where": ("$.a > 1",), "limit": 50}),
        (
            "?start=offset&offset=3&partition=1&text=-v",
            {"start": FromOffset(Offset(3)), "partitions": (1,), "grep": "-v"},
        ),
        ("?at=1.5&go=newer&partition=1", {"start": FromOffset(Offset(5)), "partitions": (1,)}),
        (
            "?at=1.5&go=older&partition=1&size=2",
            {"start": FromOffset(Offset(3)), "partitions": (1,), "limit": 2},
        ),
        ("?text=v1", None),
        ("?where=$.a > 1", None),
        ("?key=k1", None),
        ("?header=h=1", None),
        ("?start=oldest&key=it's", None),
        ("?at=0.1_1.2_2.0&go=newer", None),
        ("?at=1.5&go=older&partition=1&text=v", None),
    ],
)
def test_the_line_for_a_terminal_shows_the_same_records(
    console: TestClient,
    connection: Connection,
    topic: TopicName,
    query: str,
    expected: dict[str, object] | None,
) -> None:
    """What `penstock consume` cannot be asked for, the JSON twin is."""
    send(connection, topic, [Sent(key=f"k{n}", value=f"v{n}", partition=1) for n in range(7)])
    url = f"/topics/{topic}/records{query}"

    line = line_on(console.get(url).text)

    assert line is not None
    if expected is None:
        curl, *options, address = shlex.split(line)
        assert (curl, options) == ("curl", ["-H", "Accept: application/json"])
        assert values(twin(console, address)) == values(twin(console, url))
    else:
        found = understood(line)
        assert found | {"topics": (topic,), "details": True, **expected} == found


def test_headers_are_shown_in_the_list_as_their_record_shows_them(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    many = tuple((f"h{n}", None if n == 0 else b"x" * 500) for n in range(6))
    send_raw(
        connection,
        topic,
        [
            RawRecord(value=b"a", headers=((SCRIPT, SCRIPT.encode()), ("trace", b"7"))),
            RawRecord(value=b"b", headers=many),
        ],
    )

    page = console.get(f"/topics/{topic}/records").text

    assert SCRIPT not in page
    assert page.count(ESCAPED) == 2
    assert re.search(r"trace: *<code[^>]*>7</code>", page)
    assert re.search(r'h0: *<span class="null">', page)
    assert "and 2 more headers" in page
    assert "x" * 121 not in page


@pytest.mark.parametrize("registry_format", list(SCHEMAS))
def test_records_of_the_registry_are_decoded_found_and_shown_with_their_schema(
    console: TestClient,
    topic: TopicName,
    penstock: PenstockInProcess,
    tmp_path: Path,
    registry_format: str,
) -> None:
    name, schema = SCHEMAS[registry_format]
    (tmp_path / name).write_text(schema)
    options = ("--value-format", registry_format, "--value-schema", name, "--partition", "0")
    sent = penstock("produce", topic, *options, stdin='{"id": 41}\n{"id": 42}\n')
    assert sent.status == 0, sent.stderr

    # Protobuf's JSON has numbers of 64 bits as texts.
    where = '$.id == "42"' if registry_format == "protobuf" else "$.id > 41"
    page = twin(console, f"/topics/{topic}/records?where={where}")
    record = twin(console, f"/topics/{topic}/records/0/1")
    html = console.get(f"/topics/{topic}/records/0/1").text

    assert [int(json.loads(text)["id"]) for text in values(page)] == [42]
    assert record["value"]["part"]["registry_format"] == registry_format
    assert record["value"]["subject"] == f"{topic}-value"
    assert '"id"' in record["value"]["part"]["text"]
    assert record["value"]["hex"].startswith("00000000  00 00 00")
    assert f'<a href="/schemas/subject/{topic}-value">' in html
    assert f"--value-format {registry_format}" in html


def test_what_cannot_be_decoded_is_shown_with_the_reason(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    unknown = b"\x00\x00\x0f\x42\x40rest"
    records = [RawRecord(value=value, partition=0) for value in (unknown, b"\xff\xfe")]
    send_raw(connection, topic, records)

    pages = [twin(console, f"/topics/{topic}/records/0/{offset}") for offset in (0, 1)]
    first, second = (page["value"]["part"] for page in pages)

    assert (first["kind"], first["reason"]) == ("bytes", "schema id 1000000 is not in the registry")
    assert (second["kind"], second["text"], second["reason"]) == ("bytes", "ff fe", None)


def test_tombstones_empty_keys_and_hostile_records_are_shown_and_not_run(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    send_raw(
        connection,
        topic,
        [
            RawRecord(value=None, key=b"gone", partition=0),
            RawRecord(value=b"", key=b"", partition=0),
            RawRecord(
                value=json.dumps({"x": SCRIPT}).encode(),
                key=SCRIPT.encode(),
                headers=((SCRIPT, SCRIPT.encode()), ("turned", "a\u202eb".encode())),
                partition=0,
            ),
        ],
    )

    pages = [
        console.get(f"/topics/{topic}/records").text,
        console.get(f"/topics/{topic}/records/0/2").text,
        console.get(f"/topics/{topic}/records?text={SCRIPT}&key={SCRIPT}").text,
        console.get(f"/topics/{topic}/records/0/2/again").text,
    ]
    rows = twin(console, f"/topics/{topic}/records?start=oldest")["rows"]

    for page in pages:
        assert SCRIPT not in page
        assert ESCAPED in page or "&lt;script" in page
    assert "a\\u202eb" in pages[1]
    assert [row["value"]["kind"] for row in rows] == ["null", "text", "JSON"]
    assert [row["key"]["text"] for row in rows] == ["gone", "", SCRIPT]
    assert "a tombstone" in console.get(f"/topics/{topic}/records/0/0").text


def test_aborted_records_are_shown_only_when_they_are_asked_for(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value="before", partition=0)])
    send_aborted(connection, topic, ["aborted"], partition=0)

    assert values(twin(console, f"/topics/{topic}/records")) == ["before"]
    page = twin(console, f"/topics/{topic}/records?uncommitted=1")
    assert values(page) == ["aborted", "before"]
    assert console.get(f"/topics/{topic}/records/0/1", headers=JSON).json()["code"] == "PEN-761"
    shown = twin(console, f"/topics/{topic}/records/0/1?uncommitted=1")
    assert shown["value"]["part"]["text"] == "aborted"


def test_a_record_of_ten_megabytes_is_cut_with_a_mark_and_downloaded_as_a_whole(
    console: TestClient, kafka: KafkaCluster
) -> None:
    topic = kafka.create_topic(f"large-{uuid4().hex}", config={"max.message.bytes": "11000000"})
    large = json.dumps({"x": "y" * 10_000_000}).encode()
    client = Client(kafka.connection.client_config() | {"message.max.bytes": "11000000"})
    client.produce(topic, large)
    assert client.flush(60) == 0

    page = console.get(f"/topics/{topic}/records/0/0").text
    lines = twin(console, f"/topics/{topic}/records")

    assert len(page) < 1_000_000
    assert "Cut: only the beginning is shown." in page
    assert lines["rows"][0]["value"]["is_cut"]
    assert lines["rows"][0]["byte_count"] == len(large)
    download = console.get(f"/topics/{topic}/records/0/0/bytes?side=value")
    assert download.content == large
    assert "attachment" in download.headers["content-disposition"]


def events_of(answer: Response) -> list[tuple[str, Any]]:
    found = re.findall(r"event: (\w+)\ndata: (.*)\n\n", answer.text)
    return [(name, json.loads(data)) for name, data in found]


def test_a_search_sends_what_it_finds_and_says_where_it_ended(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(value=f"{SCRIPT}{n}") for n in range(300)])

    events = events_of(console.get(f"/topics/{topic}/records/search?text=9&size=20"))
    *found, (last, ended) = [event for event in events if event[0] != "progress"]

    assert [name for name, _ in found] == ["records"] * 20
    assert all(ESCAPED in html and SCRIPT not in html for _, html in found)
    assert (last, ended["found"], ended["is_complete"]) == ("ended", 20, False)
    onwards = ended["onwards"].replace("/records?", "/records/search?")
    onwards = onwards.replace("size=20", "size=400")
    rest = events_of(console.get(onwards))
    assert rest[-1][1]["is_complete"]
    assert 20 + rest[-1][1]["found"] == sum("9" in str(n) for n in range(300))


def test_a_search_ends_when_nobody_listens_any_more(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    """A browser that goes away, or whose user cancels, closes the connection and says nothing."""
    fill(connection, topic, 500_000)

    with served(console.app) as port, socket.create_connection(("127.0.0.1", port)) as browser:
        asked = f"GET /topics/{topic}/records/search?text=nowhere HTTP/1.1"
        browser.sendall(f"{asked}\r\nHost: 127.0.0.1\r\n\r\n".encode())
        received = b""
        while b"event: progress" not in received:
            received += browser.recv(65536)
        assert "penstock-search" in threads()
        browser.close()
        eventually(lambda: "penstock-search" not in threads(), within_seconds=15)

    assert b"event: ended" not in received


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_search_that_cannot_be_is_refused_before_it_begins(
    console: TestClient, topic: TopicName
) -> None:
    answer = console.get(f"/topics/{topic}/records/search?where=x", headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, "PEN-495")


@pytest.fixture
def masked(kafka: KafkaCluster, connection: Connection) -> TopicName:
    topic = kafka.create_topic(f"masked-{uuid4().hex}")
    send_raw(
        connection,
        topic,
        [
            RawRecord(
                key=b"4111-key",
                value=b'{"card":{"number":"4111-value","of":"ann"},"id":1}',
                headers=(("token", b"4111-header"), ("trace", b"7")),
            ),
            RawRecord(value=b"4111 is not JSON"),
        ],
    )
    return topic


def test_what_is_hidden_leaves_the_server_for_those_who_may_see_it_only(
    roles: Roles, masked: TopicName
) -> None:
    urls = [
        f"/topics/{masked}/records",
        f"/topics/{masked}/records/0/0",
        f"/topics/{masked}/records/0/1",
        f"/topics/{masked}/records/search?text=ann",
        f"/topics/{masked}/records/search?text=41",
        f"/topics/{masked}/records/export?format=jsonl",
        f"/topics/{masked}/records/export?format=csv",
        f"/topics/{masked}/records/0/0/bytes?side=value",
        f"/topics/{masked}/records/0/0/bytes?side=key",
        f"/topics/{masked}/records/0/0/again",
    ]
    for accept in ("application/json", "text/html"):
        for url in urls:
            assert "4111" not in roles.get(Role.VIEWER, url, Accept=accept).text, url
            operators = roles.get(Role.OPERATOR, url, Accept=accept).text
            assert "4111-key" not in operators, url
    listed = roles.get(Role.VIEWER, f"/topics/{masked}/records", Accept="text/html").text
    assert re.search(r"token: *<span class=.hidden-part", listed)
    assert re.search(r"trace: *<code[^>]*>7</code>", listed)
    admin = roles.get(Role.ADMIN, f"/topics/{masked}/records").json()["rows"]
    assert "4111-value" in admin[1]["value"]["text"]
    assert admin[1]["key"]["text"] == "4111-key"
    operator = roles.get(Role.OPERATOR, f"/topics/{masked}/records/0/0").json()
    assert "4111-value" in operator["value"]["part"]["text"]


@pytest.mark.parametrize(
    "query",
    ["key=4111-key", 'where=$.card.number = "4111-value"', "header=token", "where=/card != 1"],
)
def test_nobody_can_look_for_what_is_hidden_from_him(
    roles: Roles, masked: TopicName, query: str
) -> None:
    for page in ("", "/search", "/export"):
        answer = roles.get(Role.VIEWER, f"/topics/{masked}/records{page}?{query}")
        assert (answer.status_code, answer.json()["code"]) == (403, "PEN-762")
    assert roles.get(Role.VIEWER, f"/topics/{masked}/records?text=4111").json()["rows"] == []


def test_no_more_files_are_made_at_once_than_fit_into_memory(
    console: TestClient, topic: TopicName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.console.records.exporting._MOST", 0)

    answer = console.get(f"/topics/{topic}/records/export", headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (503, "PEN-768")


def test_an_export_comes_back_byte_for_byte(
    console: TestClient,
    kafka: KafkaCluster,
    connection: Connection,
    topic: TopicName,
    penstock: PenstockInProcess,
) -> None:
    headers = (("h", b"1"), ("h", None))
    records = [
        RawRecord(key=b"a", value=b'{"x": "\xc3\xa9"}', headers=headers, partition=0),
        RawRecord(key=b"", value=None, partition=0),
        RawRecord(key=None, value=b"\xff\x00\n\r", headers=(("b", b"\xff"),), partition=0),
        RawRecord(key=b"=1+1", value=b"=HYPERLINK(1)", partition=0),
    ]
    send_raw(connection, topic, records)
    copy = kafka.create_topic(f"copy-{uuid4().hex}")

    export = console.get(f"/topics/{topic}/records/export?start=oldest&format=jsonl")
    done = penstock("produce", copy, "--format", "records", stdin=export.text)

    assert done.status == 0, done.stderr
    assert topic_contents(connection.bootstrap, copy) == topic_contents(connection.bootstrap, topic)
    table = console.get(f"/topics/{topic}/records/export?start=oldest&format=csv").text
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert [row["value_kind"] for row in rows] == ["text", "null", "base64", "text"]
    assert (rows[3]["key"], rows[3]["value"]) == ("'=1+1", "'=HYPERLINK(1)")


def test_an_operator_produces_a_record_and_it_is_on_the_trail(
    roles: Roles, connection: Connection, topic: TopicName
) -> None:
    form = {
        "key": "ann",
        "value": '{"id": 1}',
        "value_format": "JSON",
        "headers": "trace=7\nnothing\nraw:=/w==",
        "partition": 2,
    }

    asked = roles.get(Role.OPERATOR, f"/topics/{topic}/produce?_ask=1&value=x")
    done = roles.post(Role.OPERATOR, f"/topics/{topic}/produce", form)

    assert asked.json()["question"]["button"] == "Produce"
    assert done.json() == {"done": f"produced to partition 2 of `{topic}`, offset 0"}
    (stored,) = topic_contents(connection.bootstrap, topic)
    assert (stored.partition, stored.key, stored.value) == (2, b"ann", b'{"id": 1}')
    assert stored.headers == (("trace", b"7"), ("nothing", None), ("raw", b"\xff"))
    entry = Trail(connection).last(1)[0]
    assert (entry.who, entry.action, entry.target) == (
        "operator",
        "produce_record",
        f"topic {topic}",
    )
    refused = roles.post(Role.VIEWER, f"/topics/{topic}/produce", {"value": "x"})
    assert refused.status_code == 403


def test_a_record_is_written_with_the_schema_of_its_topic(
    console: TestClient,
    connection: Connection,
    topic: TopicName,
    penstock: PenstockInProcess,
    tmp_path: Path,
) -> None:
    (tmp_path / "a.avsc").write_text(SCHEMAS["avro"][1])
    assert penstock("schemas", "register", f"{topic}-value", "a.avsc").status == 0
    url, form = f"/topics/{topic}/produce", {"value_format": "registry schema"}

    good = console.post(url, json={**form, "value": '{"id": 7}'}, headers=JSON)
    wrong = console.post(url, json={**form, "value": '{"ident": 7}'}, headers=JSON)
    no_key = console.post(url, json={"key": '"a"', "key_format": "registry schema"}, headers=JSON)

    assert good.status_code == 200, good.text
    (stored,) = topic_contents(connection.bootstrap, topic)
    assert (stored.value or b"")[5:] == b"\x0e"
    assert wrong.json()["code"] == "PEN-750"
    assert "`/ident`" in wrong.json()["message"]
    assert no_key.json()["code"] == "PEN-765"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"value": "{", "value_format": "JSON"}, "the value is not JSON"),
        ({"value": "NaN", "value_format": "JSON"}, "the value is not JSON"),
        ({"value": "%", "value_format": "base64"}, "the value is not base64"),
        ({"value": "x", "value_format": "null"}, "the value is to be null, and has text"),
        ({"headers": "=x"}, "the headers have `=x`, without a name"),
        ({"value": "x", "partition": 9}, "has no partition 9"),
    ],
)
def test_what_cannot_be_sent_is_said_before_anything_is(
    console: TestClient, topic: TopicName, form: dict[str, object], message: str
) -> None:
    answer = console.post(f"/topics/{topic}/produce", json=form, headers=JSON)

    assert answer.status_code in (400, 404)
    assert message in answer.json()["message"]


@pytest.mark.parametrize("own", ["_penstock.audit", "__consumer_offsets", "_schemas"])
def test_nobody_writes_by_hand_what_kafka_or_penstock_keeps(console: TestClient, own: str) -> None:
    answer = console.post(f"/topics/{own}/produce", json={"value": "x"}, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (403, "PEN-767")


def test_producing_again_makes_the_same_record(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    headers = (("h", b"a\nb"), ("n", None))
    records = [
        RawRecord(key=b"a", value=b"line\r\nline", headers=headers, partition=0),
        RawRecord(key=b"", value=None, headers=(("x:", b"1"),), partition=0),
        RawRecord(key=b"\xff", value=b"text \xc3\xa9", partition=0),
        RawRecord(key=b"a\nb", value=b"\n\ta\nb\n", partition=0),
        RawRecord(key=b"a\tb", value=b"\ta\nb\n", partition=0),
    ]
    send_raw(connection, topic, records)
    for offset in range(5):
        url = f"/topics/{topic}/records/0/{offset}/again"
        page = console.get(url).text
        names = re.findall(r'<(?:input|textarea|select)[^>]* name="(\w+)"', page)
        assert {"key", "value", "headers", "partition"} <= set(names)
        form = inputs_in(page)
        done = console.post(url, json=form, headers=JSON)
        assert done.status_code == 200, done.text

    stored = topic_contents(connection.bootstrap, topic)
    kept = [(item.key, item.value, item.headers) for item in stored]
    assert kept[5:] == kept[:5]


def inputs_in(page: str) -> dict[str, str]:
    """Return what a browser would send of a form."""
    from html.parser import HTMLParser

    class Inputs(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: dict[str, str] = {}
            self.area = self.select = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            known = dict(attrs)
            name = known.get("name") or ""
            if tag == "input" and name not in ("_proof", "_ask"):
                self.found[name] = known.get("value") or ""
            elif tag == "textarea":
                self.area, self.found[name] = name, ""
            elif tag == "select":
                self.select = name
            self.is_chosen = tag == "option" and "selected" in known

        def handle_data(self, data: str) -> None:
            if self.area:
                self.found[self.area] += data
            elif self.select and self.is_chosen:
                self.found[self.select] = data

        def handle_endtag(self, tag: str) -> None:
            if tag == "textarea":
                self.area = ""
            elif tag == "option":
                self.is_chosen = False
            elif tag == "select":
                self.select = ""

    inputs = Inputs()
    inputs.feed(page)
    return {name: value for name, value in inputs.found.items() if value}
