"""`penstock produce` and `consume` in registry formats, on a real broker and a real registry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from penstock.kafka import OutgoingRecord, Producer
from support.in_process import PenstockInProcess
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName
    from support.commands import Outcome

USER = {
    "type": "record",
    "name": "User",
    "namespace": "course",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": ["null", "int"], "default": None},
        {
            "name": "since",
            "type": {"type": "int", "logicalType": "date"},
            "default": 0,
        },
    ],
}
PAYMENT = {
    "title": "Payment",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "sum": {"type": "number", "minimum": 0}},
    "required": ["id"],
    "additionalProperties": False,
}
TRIP = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Trip {
  string id = 1;
  google.protobuf.Timestamp at = 2;
  repeated int32 stops = 3;
}
"""


class Console:
    """A folder, a topic with one partition, and the two commands on it."""

    def __init__(
        self, folder: Path, connection: Connection, registry_url: str, topic: TopicName
    ) -> None:
        self.folder = folder
        self.topic = topic
        self.bootstrap = connection.bootstrap
        environment = {
            "PENSTOCK_BOOTSTRAP": connection.bootstrap,
            "PENSTOCK_REGISTRY_URL": registry_url,
        }
        self.penstock = PenstockInProcess(folder, environment)

    def file(self, name: str, content: object) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.folder / name).write_text(text)
        return name

    def produce(self, *options: str, lines: Sequence[object]) -> Outcome:
        typed = "".join(f"{json.dumps(line)}\n" for line in lines)
        return self.penstock("produce", self.topic, *options, stdin=typed)

    def consume(self, *options: str) -> Outcome:
        return self.penstock("consume", self.topic, *options)

    def values(self) -> list[bytes | None]:
        return [record.value for record in topic_contents(self.bootstrap, self.topic)]

    def put_aside(self) -> list[dict[str, Any]]:
        path = self.folder / f"{self.topic}.errors.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def console(
    kafka: KafkaCluster, connection: Connection, registry_url: str, tmp_path: Path
) -> Console:
    topic = kafka.create_topic(f"format-{uuid4().hex}")
    return Console(tmp_path, connection, registry_url, topic)


def documents(done: Outcome) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_avro_goes_there_and_back_on_the_console(console: Console) -> None:
    schema = console.file("user.avsc", USER)
    users = [{"name": "ann", "age": 41, "since": "2026-05-01"}, {"name": "bob"}]

    sent = console.produce("--value-format", "avro", "--value-schema", schema, lines=users)
    read = console.consume("--value-format", "avro")

    assert sent.status == 0, sent.stderr
    assert sent.stderr.startswith(f"values are written as {console.topic}-value version 1, id ")
    assert documents(read) == [users[0], {"name": "bob", "age": None, "since": "1970-01-01"}]
    assert read.stderr == "2 records; end reached\n"
    # A magic byte and the id, then Avro: a text of 3, branch 1, 41, and 20,574 days.
    assert [(value or b"")[:1] for value in console.values()] == [b"\0", b"\0"]
    assert (console.values()[0] or b"")[5:] == b"\x06ann\x02\x52\xbc\xc1\x02"


def test_json_schema_goes_there_and_back(console: Console) -> None:
    schema = console.file("payment.json", PAYMENT)
    payments = [{"id": 1, "sum": 2.5}, {"id": 2}]
    options = ("--value-format", "json-schema")

    assert console.produce(*options, "--value-schema", schema, lines=payments).status == 0

    assert documents(console.consume(*options)) == payments


def test_protobuf_goes_there_and_back(console: Console) -> None:
    schema = console.file("trip.proto", TRIP)
    trips = [{"id": "a", "at": "2026-05-01T12:00:00Z", "stops": [1, 2]}, {"id": "b"}]
    options = ("--value-format", "protobuf")

    assert console.produce(*options, "--value-schema", schema, lines=trips).status == 0

    assert documents(console.consume(*options)) == [trips[0], {"id": "b", "stops": []}]


def test_a_line_that_does_not_fit_is_put_aside_with_its_field_and_the_others_are_sent(
    console: Console,
) -> None:
    schema = console.file("user.avsc", USER)
    lines = [{"name": "ann"}, {"name": 5}, {"nane": "bob"}, {"name": "cid", "age": "x"}]

    done = console.produce("--value-format", "avro", "--value-schema", schema, lines=lines)

    assert done.status == 1
    found = [(item["error"]["code"], item["error"]["message"]) for item in console.put_aside()]
    assert found == [
        ("PEN-750", "field `/name` of the value is a number (5), not a value of type string"),
        ("PEN-750", "field `/nane` of the value is not a field of `course.User`"),
        ("PEN-750", 'field `/age` of the value is a text ("x"), not a value of type int'),
    ]
    assert len(console.values()) == 1


@pytest.mark.parametrize(
    ("registry_format", "name", "schema", "wrong", "field"),
    [
        ("json-schema", "payment.json", PAYMENT, {"sum": 1}, "/id"),
        ("json-schema", "payment.json", PAYMENT, {"id": 1, "sum": -1}, "/sum"),
        ("json-schema", "payment.json", PAYMENT, {"id": 1, "summ": 1}, "/summ"),
        ("protobuf", "trip.proto", TRIP, {"id": 7}, "/id"),
        ("protobuf", "trip.proto", TRIP, {"stops": [1, "x"]}, "/stops/1"),
    ],
    ids=["missing", "below minimum", "unknown", "wrong type", "in a list"],
)
def test_the_other_formats_name_the_field_too(
    console: Console,
    registry_format: str,
    name: str,
    schema: object,
    wrong: dict[str, object],
    field: str,
) -> None:
    file = console.file(name, schema)

    console.produce("--value-format", registry_format, "--value-schema", file, lines=[wrong])

    (error,) = [item["error"] for item in console.put_aside()]
    assert error["code"] == "PEN-750"
    assert error["message"].startswith(f"field `{field}` of the value ")
    assert console.values() == []


def test_without_a_file_the_latest_schema_of_the_subject_is_used_also_for_keys(
    console: Console,
) -> None:
    for side, schema in (("value", USER), ("key", {"type": "long"})):
        file = console.file(f"{side}.avsc", schema)
        console.penstock("schemas", "register", f"{console.topic}-{side}", file)
    formats = ("--key-format", "avro", "--value-format", "avro")

    sent = console.produce(
        *formats, "--format", "json", "--key-pointer", "/age", lines=[{"name": "ann", "age": 41}]
    )
    read = console.consume(*formats, "--json")

    assert sent.status == 0, sent.stderr
    (record,) = documents(read)
    assert (record["key"], record["value"]["name"]) == (41, "ann")


def test_records_as_consume_writes_them_go_back_with_what_could_not_be_decoded(
    console: Console, connection: Connection, kafka: KafkaCluster
) -> None:
    file = console.file("user.avsc", USER)
    console.produce("--value-format", "avro", "--value-schema", file, lines=[{"name": "ann"}])
    foreign = [b"plain text", b"\x00\x7f\xff\xff\xff\x02", None]
    with Producer(connection) as producer:
        for data in foreign:
            producer.send_record(OutgoingRecord(topic=console.topic, key=None, value=data))
    copy = kafka.create_topic(f"copy-{uuid4().hex}")
    console.penstock("schemas", "register", f"{copy}-value", file)

    lines = console.consume("--value-format", "avro")
    written = console.consume("--value-format", "avro", "--json")
    sent = console.penstock(
        "produce", copy, "--format", "records", "--value-format", "avro", stdin=written.stdout
    )

    shown = documents(lines)
    assert (lines.status, shown[0]["name"], shown[3]) == (0, "ann", None)
    assert shown[1] == {
        "undecodable": "it does not begin with a schema id",
        "base64": "cGxhaW4gdGV4dA==",
    }
    assert shown[2]["undecodable"] == "schema id 2147483647 is not in the registry"
    assert lines.stderr == "4 records, 2 could not be decoded; end reached\n"
    assert sent.status == 0, sent.stderr
    copied = [record.value for record in topic_contents(console.bootstrap, copy)]
    assert copied == console.values()


def test_conditions_see_what_was_decoded(console: Console) -> None:
    file = console.file("user.avsc", USER)
    users = [{"name": "ann", "age": 41}, {"name": "bob", "age": 7}]
    console.produce("--value-format", "avro", "--value-schema", file, lines=users)

    done = console.consume("--value-format", "avro", "--where", "/age > 18")

    assert [item["name"] for item in documents(done)] == ["ann"]


def test_a_schema_that_is_not_compatible_is_refused_before_anything_is_sent(
    console: Console,
) -> None:
    """The course's example: a plain string after the schema of a user registration."""
    console.penstock(
        "schemas", "register", f"{console.topic}-value", console.file("user.avsc", USER)
    )
    plain = console.file("plain.avsc", '"string"')

    done = console.produce("--value-format", "avro", "--value-schema", plain, lines=["hello"])

    assert done.status == 1
    assert done.stderr.startswith("error[PEN-742]: ")
    assert console.values() == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--value-format", "avro"), "PEN-754"),
        (("--value-schema", "user.avsc"), "PEN-755"),
        (("--value-format", "protobuf", "--value-schema", "user.avsc"), "PEN-752"),
        (("--value-format", "avro", "--registry", "http://127.0.0.1:9"), "PEN-741"),
    ],
    ids=["no schema", "no format", "another type", "no registry"],
)
def test_what_cannot_be_begun_is_told_before_a_line_is_read(
    console: Console, options: tuple[str, ...], code: str
) -> None:
    console.file("user.avsc", USER)

    done = console.produce(*options, lines=[{"name": "ann"}])

    assert done.status != 0
    assert done.stderr.startswith(f"error[{code}]: ")
    assert console.values() == []
    registered = console.penstock("schemas", "list", f"{console.topic}-*", "--json")
    assert registered.json == []


def test_a_registry_that_is_away_is_an_error_and_not_an_undecodable_record(
    console: Console,
) -> None:
    file = console.file("user.avsc", USER)
    console.produce("--value-format", "avro", "--value-schema", file, lines=[{"name": "ann"}])

    done = console.consume("--value-format", "avro", "--registry", "http://127.0.0.1:9")

    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("error[PEN-741]: ")


def test_a_group_reads_what_it_could_not_decode_while_the_registry_was_away(
    console: Console,
) -> None:
    file = console.file("user.avsc", USER)
    console.produce("--value-format", "avro", "--value-schema", file, lines=[{"name": "ann"}])
    group = ("--value-format", "avro", "--group", f"group-{uuid4().hex}")

    away = console.consume(*group, "--registry", "http://127.0.0.1:9")
    back = console.consume(*group)

    assert away.status == 1
    assert [item["name"] for item in documents(back)] == ["ann"]
