"""Confluent's Python clients, as users have them, against Penstock's registry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.schema_registry_client import (
    ConfigCompatibilityLevel,
    ServerConfig,
)
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.schemas import Resolved, SchemaType, parse
from penstock.schemas.protobuf import ProtobufSchema
from penstock.schemas.protobuf.messages import message_class

if TYPE_CHECKING:
    from collections.abc import Iterator

CUSTOMER = {
    "type": "record",
    "name": "Customer",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
CUSTOMER_2 = {
    **CUSTOMER,
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "email", "type": ["null", "string"], "default": None},
    ],
}
INCOMPATIBLE = {**CUSTOMER, "fields": [{"name": "id", "type": "string"}]}


@pytest.fixture
def client(registry_url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry_url}) as client:
        yield client


@pytest.fixture
def topic() -> str:
    """The name of a topic; nothing is sent, serializers need the name alone."""
    return f"orders-{uuid4().hex[:8]}"


def avro(schema: object, *references: SchemaReference) -> Schema:
    return Schema(json.dumps(schema), "AVRO", list(references))


def values(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def proto(text: str, *references: Resolved) -> ProtobufSchema:
    schema = parse(SchemaType.PROTOBUF, text, references)
    assert isinstance(schema, ProtobufSchema)
    return schema


def test_the_client_registers_finds_lists_and_compares(
    client: SchemaRegistryClient, topic: str
) -> None:
    first = client.register_schema(topic, avro(CUSTOMER))
    again = client.register_schema(topic, avro(CUSTOMER))
    second = client.register_schema(topic, avro(CUSTOMER_2))

    assert first == again != second
    assert client.get_versions(topic) == [1, 2]
    latest = client.get_latest_version(topic)
    assert (latest.version, latest.schema_id) == (2, second)
    assert json.loads(client.get_schema(first).schema_str or "") == CUSTOMER
    assert client.lookup_schema(topic, avro(CUSTOMER)).version == 1
    assert topic in client.get_subjects()
    assert client.get_subjects_by_schema_id(second) == [topic]
    assert client.test_compatibility(topic, avro(CUSTOMER))
    assert not client.test_compatibility(topic, avro(INCOMPATIBLE))
    assert not client.test_compatibility_all_versions(topic, avro(INCOMPATIBLE))


def test_the_same_schema_has_the_same_id_under_another_subject(
    client: SchemaRegistryClient, topic: str
) -> None:
    assert client.register_schema(topic, avro(CUSTOMER)) == client.register_schema(
        f"{topic}-2", avro(CUSTOMER)
    )


def test_errors_carry_confluents_codes(client: SchemaRegistryClient, topic: str) -> None:
    client.register_schema(topic, avro(CUSTOMER))

    def refused(call: Any, *arguments: object) -> tuple[int, int]:  # noqa: ANN401 - any method
        with pytest.raises(SchemaRegistryError) as caught:
            call(*arguments)
        return caught.value.http_status_code, caught.value.error_code

    assert refused(client.register_schema, topic, avro(INCOMPATIBLE)) == (409, 409)
    assert refused(client.register_schema, topic, Schema("{", "AVRO")) == (422, 42201)
    assert refused(client.get_latest_version, f"{topic}-x") == (404, 40401)
    assert refused(client.get_version, topic, 7) == (404, 40402)
    assert refused(client.get_schema, 2_000_000_000) == (404, 40403)
    assert refused(client.lookup_schema, topic, avro(CUSTOMER_2)) == (404, 40403)


def test_levels_are_set_and_count(client: SchemaRegistryClient, topic: str) -> None:
    client.register_schema(topic, avro(CUSTOMER))
    client.set_compatibility(topic, "NONE")

    assert client.get_compatibility(topic) == "NONE"
    client.register_schema(topic, avro(INCOMPATIBLE))
    client.set_config(topic, ServerConfig(compatibility=ConfigCompatibilityLevel.FULL))
    assert client.get_config(topic).compatibility_level is ConfigCompatibilityLevel.FULL


def test_versions_and_subjects_are_deleted(client: SchemaRegistryClient, topic: str) -> None:
    client.register_schema(topic, avro(CUSTOMER))
    client.register_schema(topic, avro(CUSTOMER_2))

    assert client.delete_version(topic, 1) == 1
    assert client.get_versions(topic) == [2]
    assert client.delete_subject(topic) == [2]
    assert client.delete_subject(topic, permanent=True) == [1, 2]
    assert topic not in client.get_subjects(deleted=True)


def test_avro_serializers_register_and_read_each_others_records(
    client: SchemaRegistryClient, topic: str
) -> None:
    written = AvroSerializer(client, json.dumps(CUSTOMER))({"id": 1, "name": "ann"}, values(topic))

    old = AvroDeserializer(client)(written, values(topic))
    new = AvroDeserializer(client, json.dumps(CUSTOMER_2))(written, values(topic))

    assert old == {"id": 1, "name": "ann"}
    assert new == {"id": 1, "name": "ann", "email": None}
    assert client.get_latest_version(f"{topic}-value").version == 1


def test_a_new_writer_and_an_old_reader_understand_each_other(
    client: SchemaRegistryClient, topic: str
) -> None:
    context = values(topic)
    AvroSerializer(client, json.dumps(CUSTOMER))({"id": 1, "name": "ann"}, context)
    customer = {"id": 2, "name": "bob", "email": "b@x"}
    written = AvroSerializer(client, json.dumps(CUSTOMER_2))(customer, context)

    read = AvroDeserializer(client, json.dumps(CUSTOMER))(written, context)

    assert read == {"id": 2, "name": "bob"}


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        (record_subject_name_strategy, "{record}"),
        (topic_record_subject_name_strategy, "{topic}-{record}"),
    ],
    ids=["record", "topic and record"],
)
def test_the_other_subject_name_strategies_find_their_subjects(
    client: SchemaRegistryClient,
    topic: str,
    strategy: Any,  # noqa: ANN401 - a function of theirs
    subject: str,
) -> None:
    schema = {**CUSTOMER, "name": f"Customer_{uuid4().hex[:8]}"}
    conf = {"subject.name.strategy": strategy}

    AvroSerializer(client, json.dumps(schema), conf=conf)({"id": 1, "name": "x"}, values(topic))

    expected = subject.format(topic=topic, record=schema["name"])
    assert client.get_versions(expected) == [1]


def test_an_avro_serializer_with_the_latest_version_and_one_that_must_not_register(
    client: SchemaRegistryClient, topic: str
) -> None:
    conf = {"auto.register.schemas": False}
    with pytest.raises(SchemaRegistryError):
        AvroSerializer(client, json.dumps(CUSTOMER), conf=conf)(
            {"id": 1, "name": "x"}, values(topic)
        )
    schema_id = client.register_schema(f"{topic}-value", avro(CUSTOMER_2))

    latest = {**conf, "use.latest.version": True}
    written = AvroSerializer(client, conf=latest)({"id": 1, "name": "x"}, values(topic))
    by_id = {**conf, "use.schema.id": schema_id}
    same = AvroSerializer(client, conf=by_id)({"id": 1, "name": "x"}, values(topic))

    assert written == same
    assert written is not None
    assert int.from_bytes(written[1:5], "big") == schema_id


def test_avro_with_a_reference_is_written_and_read(
    client: SchemaRegistryClient, registry_url: str, topic: str
) -> None:
    address = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
    client.register_schema(f"{topic}-address", avro(address))
    order = {"type": "record", "name": "Order", "fields": [{"name": "to", "type": "Address"}]}
    reference = SchemaReference("Address", f"{topic}-address", 1)

    written = AvroSerializer(client, avro(order, reference))({"to": {"city": "Ulm"}}, values(topic))

    with SchemaRegistryClient({"url": registry_url}) as fresh:
        assert AvroDeserializer(fresh)(written, values(topic)) == {"to": {"city": "Ulm"}}


def test_json_schema_is_written_and_read_and_refused(
    client: SchemaRegistryClient, topic: str
) -> None:
    person = json.dumps(
        {
            "title": "Person",
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
            "required": ["name"],
        }
    )
    serializer = JSONSerializer(person, client)

    written = serializer({"name": "ann", "age": 41}, values(topic))

    read = JSONDeserializer(None, schema_registry_client=client)(written, values(topic))
    assert read == {"name": "ann", "age": 41}
    assert client.get_latest_version(f"{topic}-value").schema.schema_type == "JSON"
    with pytest.raises(Exception, match="-1 is less than the minimum"):
        serializer({"name": "ann", "age": -1}, values(topic))


def test_json_schema_with_a_reference_is_written_and_read(
    client: SchemaRegistryClient, topic: str
) -> None:
    money = {"type": "object", "properties": {"amount": {"type": "number"}}}
    client.register_schema(f"{topic}-money", Schema(json.dumps(money), "JSON"))
    payment = Schema(
        json.dumps({"type": "object", "properties": {"sum": {"$ref": "money.json"}}}),
        "JSON",
        [SchemaReference("money.json", f"{topic}-money", 1)],
    )

    written = JSONSerializer(payment, client)({"sum": {"amount": 2.5}}, values(topic))

    read = JSONDeserializer(None, schema_registry_client=client)(written, values(topic))
    assert read == {"sum": {"amount": 2.5}}


def test_protobuf_with_imports_and_nested_messages_is_written_and_read(
    client: SchemaRegistryClient, topic: str
) -> None:
    """The client registers descriptors in base64, first those of imported files."""
    name = f"geo_{uuid4().hex[:8]}.proto"
    geo = 'syntax = "proto3"; package geo; message Point { double lat = 1; double lon = 2; }'
    schema = proto(
        f'syntax = "proto3"; import "{name}"; import "google/protobuf/timestamp.proto";\n'
        "message Other { int32 x = 1; }\n"
        "message Trip { string id = 1; geo.Point start = 2; google.protobuf.Timestamp at = 3;\n"
        "  message Stop { string place = 1; } repeated Stop stops = 4; }",
        Resolved(name=name, text=geo),
    )
    trip = message_class(schema, "Trip")
    stop = message_class(schema, "Trip.Stop")
    message = trip(id="a", start={"lat": 1.5}, stops=[{"place": "Ulm"}])

    written = ProtobufSerializer(trip, client)(message, values(topic))
    nested = ProtobufSerializer(stop, client)(stop(place="Ulm"), values(f"{topic}-2"))

    assert ProtobufDeserializer(trip, {}, client)(written, values(topic)) == message
    assert ProtobufDeserializer(stop, {}, client)(nested, values(f"{topic}-2")).place == "Ulm"
    registered = client.get_latest_version(f"{topic}-value").schema
    assert registered.schema_type == "PROTOBUF"
    assert "message Trip" in (registered.schema_str or "")
    assert [item.name for item in registered.references or []] == [name]


def test_protobuf_readers_with_an_older_schema_understand_newer_records(
    client: SchemaRegistryClient, topic: str
) -> None:
    old = proto('syntax = "proto3"; message Person { string name = 1; }')
    new = proto('syntax = "proto3"; message Person { string name = 1; int32 age = 2; }')
    kind = message_class(new)
    ProtobufSerializer(message_class(old), client)(message_class(old)(name="ann"), values(topic))

    written = ProtobufSerializer(kind, client)(kind(name="bob", age=7), values(topic))

    read = ProtobufDeserializer(message_class(old), {}, client)(written, values(topic))
    assert read.name == "bob"
    assert client.get_versions(f"{topic}-value") == [1, 2]
