"""Flows on topics whose schemas live in a registry, with Confluent's clients on the other side."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

import penstock as ps
from penstock.engine.contracts import wire
from penstock.engine.contracts.errors import (
    IncompatibleSchemaError,
    NotRegisteredYetError,
    UnknownSchemaError,
    UnknownSchemaIdError,
)
from penstock.engine.events import DeadLettersWritten
from penstock.names import Subject
from penstock.pipeline import Continuously
from penstock.registry.client import RegistryAddress, RegistryClient, RegistryUnavailableError
from penstock.schemas import Level, SchemaText, SchemaType
from support.flow_runs import FlowLab
from support.producing import Sent, send
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame

    from penstock.pipeline import RegistryFormat, Topic

V1 = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "fax", "type": ["null", "string"], "default": None},
    ],
}
V2 = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": ["null", "string"], "default": None},
    ],
}


@pytest.fixture
def registered(lab: FlowLab, registry_url: str) -> FlowLab:
    """A pipeline of its own beside a registry."""
    lab.registry_url = registry_url
    return lab


@pytest.fixture
def registry(registry_url: str) -> Iterator[RegistryClient]:
    """A client of the registry."""
    with RegistryClient(RegistryAddress(url=registry_url)) as client:
        yield client


def text(schema: object) -> SchemaText:
    return SchemaText(type=SchemaType.AVRO, text=json.dumps(schema))


def subject(topic: Topic) -> Subject:
    return Subject(f"{topic.kafka_name}-value")


def record(schema_id: int, schema: Any, row: object) -> Sent:  # noqa: ANN401 - JSON
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return Sent(value=wire.prefix_of(schema_id) + out.getvalue(), partition=0)


def copied(customers: DataFrame) -> DataFrame:
    return customers.select("id", "email")


def lab_file(lab: FlowLab, topic: Topic, schema: object) -> Path:
    """Let the project have a schema for the values of `topic`."""
    folder = lab.folder / "schemas"
    folder.mkdir(exist_ok=True)
    path = folder / f"{subject(topic)}.avsc"
    path.write_text(json.dumps(schema))
    return path


@pytest.mark.long
@pytest.mark.timeout(300)
def test_versions_are_read_as_the_flow_was_written_and_a_new_one_is_picked_up(
    registered: FlowLab, registry: RegistryClient
) -> None:
    lab = registered
    dead_letters = lab.dead_letters()
    customers = lab.topic("customers", value=ps.avro())
    out = lab.topic("out", value=ps.json("id bigint, email string"))
    lab_file(lab, customers, V2)
    first = registry.register(subject(customers), text(V1))
    other = registry.register(Subject(f"{subject(customers)}-other"), text({"type": "string"}))
    send(lab.kafka.connection, customers.kafka_name, [record(first, V1, {"id": 1})])

    query = lab.query(copied, customers, into=out, trigger=Continuously())
    query.start()
    eventually(lambda: lab.rows(out) == [{"id": 1, "email": None}], within_seconds=60)
    second = registry.register(subject(customers), text(V2))
    young = record(second, V2, {"id": 2, "email": "b"})
    send(lab.kafka.connection, customers.kafka_name, [young])
    assert query.await_end(60)
    assert query.failure is not None
    error = query.failure.error
    assert isinstance(error, UnknownSchemaIdError), error
    assert (error.schema_id, error.subject, error.wait_seconds) == (
        str(second),
        subject(customers),
        0,
    )

    strangers = [
        record(other, {"type": "string"}, "x"),
        record(987654, V1, {"id": 3}),
        record(first, V1, {"id": 4}),
    ]
    send(lab.kafka.connection, customers.kafka_name, strangers)
    failures = []
    for _ in range(3):
        again = lab.query(copied, customers, into=out)
        again.start()
        assert again.await_end(60)
        if again.failure is not None:
            failures.append(again.failure.error)
    assert [type(item) for item in failures] == [UnknownSchemaIdError, UnknownSchemaIdError]

    assert sorted(row["id"] for row in lab.rows(out)) == [1, 2, 4]
    letters = [dict(item.headers) for item in lab.records(dead_letters)]
    assert sorted(item["penstock.reason"] or b"" for item in letters) == [
        f"value: schema id {other} is not one of `{subject(customers)}`".encode(),
        b"value: schema id 987654 is not in the registry",
    ]


def test_a_registry_that_is_away_is_waited_for(lab: FlowLab) -> None:
    lab.registry_url = "http://127.0.0.1:9"
    customers = lab.topic("customers", value=ps.avro())
    out = lab.topic("out", value=ps.json("id bigint, email string"))
    lab_file(lab, customers, V2)

    with pytest.raises(RegistryUnavailableError) as caught:
        lab.query(copied, customers, into=out).start()

    assert caught.value.retryable
    assert caught.value.wait_seconds is not None


def test_a_topic_that_nobody_has_a_schema_for_cannot_be_read(registered: FlowLab) -> None:
    customers = registered.topic("customers", value=ps.avro())
    out = registered.topic("out", value=ps.json("id bigint, email string"))

    with pytest.raises(UnknownSchemaError, match=f"no file for `{subject(customers)}`"):
        registered.query(copied, customers, into=out).start()


def test_what_a_flow_writes_is_registered_once_and_others_read_it(
    registered: FlowLab, registry: RegistryClient
) -> None:
    """Rows that the schema does not allow are dead letters; the key has a schema too."""
    lab = registered
    dead_letters = lab.dead_letters()
    source = lab.topic("source", value=ps.json("id bigint, email string"))
    target = lab.topic("target", value=ps.avro(), key=("id",), key_format=ps.avro())
    lab_file(lab, target, V1 | {"fields": [{"name": "id", "type": "long"}, V2["fields"][1]]})
    lab.send(source, ['{"id": 1, "email": "a"}', '{"email": "b"}', '{"id": 3}'])

    lab.run(lambda source: source.select("id", "email"), source, into=target)

    assert registry.versions(subject(target)) == [1]
    value = registry.version(subject(target))
    key = registry.version(Subject(f"{target.kafka_name}-key"))
    assert key.text == '"long"'
    stored = lab.records(target.kafka_name)
    assert {bytes(item.key or b"")[:5] for item in stored} == {wire.prefix_of(key.id)}
    found: list[Any] = []
    for item in stored:
        assert (item.value or b"")[:5] == wire.prefix_of(value.id)
        schema = fastavro.parse_schema(json.loads(value.text))
        found.append(fastavro.schemaless_reader(io.BytesIO((item.value or b"")[5:]), schema, None))
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "email": "a"},
        {"id": 3, "email": None},
    ]
    (told,) = lab.told(DeadLettersWritten)
    assert (told.count, told.dataset, told.topic) == (1, target.name, dead_letters)
    assert sum(batch.output_rows or 0 for batch in lab.batches()) == 2
    (letter,) = lab.records(dead_letters)
    assert json.loads(letter.value or b"") == {"email": "b"}
    headers = dict(letter.headers)
    assert headers["penstock.class"] == b"code"
    assert headers["penstock.reason"] == b"`/id` is null, which its schema does not allow"


def test_an_incompatible_schema_is_refused_before_anything_is_written(
    registered: FlowLab, registry: RegistryClient
) -> None:
    lab = registered
    source = lab.topic("source", value=ps.json("id bigint, email string"))
    target = lab.topic("target", value=ps.avro())
    registry.register(subject(target), text(V1))
    needs_more = {"name": "must", "type": "string"}
    lab_file(lab, target, V1 | {"fields": [*V1["fields"], needs_more]})
    lab.send(source, ['{"id": 1}'])

    def flow(source: DataFrame) -> DataFrame:
        return source.selectExpr("int(id) AS id", "email AS fax", "'x' AS must")

    with pytest.raises(IncompatibleSchemaError) as caught:
        lab.query(flow, source, into=target).start()

    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in caught.value.message
    assert registry.versions(subject(target)) == [1]
    assert lab.records(target.kafka_name) == []


def test_flows_may_be_kept_from_registering(registered: FlowLab, registry: RegistryClient) -> None:
    registered.may_register = False
    source = registered.topic("source", value=ps.json("id bigint"))
    target = registered.topic("target", value=ps.avro())
    query = registered.query(lambda source: source.select("id"), source, into=target)

    with pytest.raises(NotRegisteredYetError):
        query.start()

    made = {
        "type": "record",
        "name": "Target",
        "fields": [{"name": "id", "type": ["null", "long"], "default": None}],
    }
    registry.register(subject(target), text(made))
    registry.set_level(subject(target), Level.NONE)
    registered.send(source, ['{"id": 5}'])
    registered.run(lambda source: source.select("id"), source, into=target)
    assert len(registered.records(target.kafka_name)) == 1


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("declare", [ps.avro, ps.json_schema, ps.protobuf])
def test_each_format_is_written_with_a_schema_of_its_own_and_read_back(
    registered: FlowLab, registry: RegistryClient, declare: Callable[[], RegistryFormat]
) -> None:
    """What cannot be read of it is a dead letter, also when only its id is wrong."""
    lab = registered
    dead_letters = lab.dead_letters()
    ddl = "id bigint, name string, at timestamp, tags array<string>"
    source = lab.topic("source", value=ps.json(ddl))
    between = lab.topic("between", value=declare(), partition_count=1)
    target = lab.topic("target", value=ps.json(ddl))
    rows = [
        {"id": 1, "name": "a", "at": "2026-05-01T00:00:00.250000Z", "tags": ["x", "y"]},
        {"id": 2, "name": None, "at": "2026-05-02T00:00:00.000000Z", "tags": []},
    ]
    lab.send(source, [json.dumps(row) for row in rows])

    lab.run(lambda source: source.select("id", "name", "at", "tags"), source, into=between)
    assert registry.versions(subject(between)) == [1]
    lab.send(between, [b"\x00\x00", b"\x00\x7f\xff\xff\xffgarbage"])
    reading = FlowLab(lab.spark, lab.kafka, lab.folder / "reading", lab.name)
    reading.registry_url = lab.registry_url
    for _ in range(2):  # the id must be asked for first
        query = reading.query(
            lambda between: between.select("id", "name", "at", "tags"), between, into=target
        )
        query.start()
        assert query.await_end(110)
    reading.close()

    assert query.failure is None
    # The batch that met the unknown id had sent what came before it: at least once.
    found = {row["id"]: row for row in lab.rows(target)}
    assert [found[key] for key in sorted(found)] == rows
    reasons = [dict(item.headers)["penstock.reason"] for item in lab.records(dead_letters)]
    assert sorted(reason or b"" for reason in reasons) == [
        b"value is not in a registry's wire format",
        b"value: schema id 2147483647 is not in the registry",
    ]


def test_subjects_by_the_name_of_the_record_and_versions_of_choice(
    registered: FlowLab, registry: RegistryClient
) -> None:
    lab = registered
    name = f"Customer{lab.name}"
    old, new = V1 | {"name": name}, V2 | {"name": name}
    customers = lab.topic("customers", value=ps.avro(name, subject_names="record", version=1))
    out = lab.topic("out", value=ps.json("id int, fax string"))
    first = registry.register(Subject(name), text(old))
    second = registry.register(Subject(name), text(new))
    records = [
        record(first, old, {"id": 1, "fax": "12"}),
        record(second, old | new, {"id": 2, "email": "b"}),
    ]
    dead_letters = lab.dead_letters()
    send(lab.kafka.connection, customers.kafka_name, records)

    lab.run(lambda customers: customers.select("id", "fax"), customers, into=out)

    assert lab.rows(out) == [{"id": 1, "fax": "12"}]
    (letter,) = lab.records(dead_letters)
    reason = dict(letter.headers)["penstock.reason"] or b""
    assert reason.startswith(f"value: schema id {second} cannot be resolved".encode())


def test_a_schema_that_nobody_wrote_grows_with_the_columns_of_the_flow(
    registered: FlowLab, registry: RegistryClient
) -> None:
    lab = registered
    source = lab.topic("source", value=ps.json("id bigint, name string"))
    target = lab.topic("target", value=ps.avro())
    for columns in (["id"], ["id"], ["id", "name"]):
        lab.send(source, ['{"id": 1, "name": "a"}'])
        lab.run(lambda source, columns=columns: source.select(*columns), source, into=target)

    assert registry.versions(subject(target)) == [1, 2]
    newest = json.loads(registry.version(subject(target)).text)
    assert [field["name"] for field in newest["fields"]] == ["id", "name"]
    assert len(lab.records(target.kafka_name)) == 3
