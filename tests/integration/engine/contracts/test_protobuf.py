"""Protobuf in Spark: what Confluent's client writes is read, and what is written it reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.contracts import protobuf, wire
from penstock.engine.contracts.protobuf.descriptors import parsed
from penstock.names import Subject
from penstock.pipeline import Contract, Protobuf, WriterSchema
from penstock.schemas import Resolved
from penstock.schemas.protobuf.messages import message_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

GEO = 'syntax = "proto3"; package geo; message Point { double lat = 1; double lon = 2; }'

TRIP = """syntax = "proto3"; package trips;
import "geo.proto";
import "google/protobuf/duration.proto"; import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
message Other { int32 x = 1; }
message Trip {
  string id = 1; geo.Point start = 2; google.protobuf.Timestamp at = 3;
  message Stop { string place = 1; Kind kind = 2; enum Kind { ANY = 0; LONG = 1; } }
  repeated Stop stops = 4; map<string, int32> counts = 5; uint64 big = 6; uint32 seats = 7;
  optional bool paid = 8; google.protobuf.Duration took = 9; google.protobuf.StringValue note = 10;
  google.protobuf.Struct more = 11; oneof by { string card = 12; string cash = 13; }
  %s
}"""

OLD, NEW = TRIP % "int32 was = 14;", TRIP % "int64 amount = 14; string added = 15;"


def trips(number: int, text: str) -> WriterSchema:
    references = (Resolved(name="geo.proto", text=GEO),)
    return WriterSchema(id=number, text=text, references=references)


def contract(reader: WriterSchema, *writers: WriterSchema) -> Contract:
    return Contract(
        format=Protobuf(message="trips.Trip"),
        subject=Subject("trips-value"),
        is_key=False,
        reader=reader,
        columns="",
        writers=writers,
        written=reader,
        refused={4: "it is not in the registry"},
    )


def bytes_frame(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [(at, value) for at, value in enumerate(values)]
    return spark.createDataFrame(rows, "row int, value binary").coalesce(1)


def decoded(frame: DataFrame, bound: Contract) -> DataFrame:
    """Return the columns and `bad`, in the two steps in which flows decode."""
    decoder = protobuf.ProtobufDecoder(bound)
    source, found = F.col("value"), F.col("parsed")
    step = frame.select("*", decoder.parsed(source).alias("parsed"))
    whole = decoder.whole(found).isNull().alias("nothing")
    bad = F.when(source.isNotNull(), decoder.reason(source, found, "value")).alias("bad")
    return step.select("row", *decoder.columns(found), whole, bad)


@pytest.fixture
def client(registry_url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry_url}) as client:
        yield client


@pytest.mark.long
@pytest.mark.timeout(300)
def test_records_of_confluents_client_are_read_and_bad_ones_told_apart(
    spark: SparkSession, client: SchemaRegistryClient
) -> None:
    context = SerializationContext(f"trips-{uuid4().hex[:8]}", MessageField.VALUE)

    def written(text: str, **values: object) -> bytes:
        kind = message_class(parsed(trips(0, text)), "trips.Trip")
        record: bytes | None = ProtobufSerializer(kind, client)(kind(**values), context)
        assert record is not None
        return record

    first = written(OLD, id="a", was=-7)
    second = written(
        NEW,
        id="b",
        big=2**64 - 1,
        seats=2**32 - 1,
        paid=False,
        card="visa",
        start={"lat": 1.5},
        at={"seconds": 1_700_000_000, "nanos": 5_000},
        stops=[{"place": "Ulm", "kind": 1}, {"kind": 7}],
        counts={"x": 1},
        took={"seconds": 90},
        note={"value": ""},
        more={"a": True},
        amount=2**40,
    )
    ids = [int.from_bytes(record[1:5], "big") for record in (first, second)]
    bound = contract(trips(ids[1], NEW), trips(ids[1], NEW), trips(ids[0], OLD))
    bound = replace(bound, refused={999_999: "it is not in the registry"})

    frame = bytes_frame(
        spark,
        [
            *(first, second, None, b"", b"\x00\x00", b"\x01" + second[1:], second[:-1], second[:5]),
            *(second[:5] + b"\x00\x08\x01", wire.prefix_of(999_999) + b"\x00"),
        ],
    )
    result = decoded(frame, bound)
    found = result.collect()

    assert found[0].asDict(recursive=True) == {
        "row": 0,
        "id": "a",
        "start": None,
        "at": None,
        "stops": [],
        "counts": {},
        "big": Decimal(0),
        "seats": 0,
        "paid": None,
        "took": None,
        "note": None,
        "more": None,
        "card": None,
        "cash": None,
        "amount": -7,
        "added": "",
        "nothing": False,
        "bad": None,
    }
    assert found[1].asDict(recursive=True) == {
        "at": datetime(2023, 11, 14, 22, 13, 20, 5),  # noqa: DTZ001 - as the session's zone has it
        "row": 1,
        "id": "b",
        "big": Decimal(2**64 - 1),
        "seats": 2**32 - 1,
        "paid": False,
        "card": "visa",
        "cash": None,
        "start": {"lat": 1.5, "lon": 0.0},
        "stops": [{"place": "Ulm", "kind": "LONG"}, {"place": "", "kind": "7"}],
        "counts": {"x": 1},
        "took": timedelta(seconds=90),
        "note": "",
        "more": '{"a": true}',
        "amount": 2**40,
        "added": "",
        "nothing": False,
        "bad": None,
    }
    assert [row["nothing"] for row in found] == [False, False, *[True] * 8]
    not_wire = "value is not in a registry's wire format"
    assert [row["bad"] for row in found[2:]] == [
        *(None, not_wire, not_wire, not_wire),
        f"value is not a `trips.Trip` of schema id {ids[1]}: wire format was corrupt",
        f"value has no message indexes after schema id {ids[1]}",
        f"value holds message [0] of schema id {ids[1]}, which is not `trips.Trip`",
        "value: it is not in the registry",
    ]


def test_an_unknown_id_fails_the_batch_and_each_record_is_parsed_once(spark: SparkSession) -> None:
    bound = contract(trips(1, NEW), trips(1, NEW))
    frame = bytes_frame(spark, [wire.prefix_of(1) + b"\x02\x02", wire.prefix_of(3) + b"\x02\x02"])
    result = decoded(frame, bound)

    with pytest.raises(PySparkException) as caught:
        result.where("bad is null").select("row").collect()

    unknown = wire.UnknownId(id="3", subject="trips-value")
    assert wire.unknown_in(str(caught.value)) == unknown
    assert plan_of(result).count("ArrowEvalPython") == 1
    assert plan_of(result).count("pythonUDF1") == 0


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())  # noqa: SLF001 - no other way


STOP = "array(named_struct('place', 'x', 'kind', {!r}))"

ROWS: list[tuple[dict[str, str], str | None]] = [
    ({}, None),
    ({"seats": "-1"}, "`seats` is not a number from 0 to 4294967295"),
    ({"seats": "4294967296"}, "`seats` is not a number from 0 to 4294967295"),
    ({"big": "18446744073709551616"}, "`big` is not a number from 0 to 18446744073709551615"),
    ({"big": "18446744073709551615", "seats": "4294967295"}, None),
    ({"card": "'v'", "cash": "'c'"}, "`by` is a oneof, and several of `card`, `cash` are set"),
    (
        {"stops": STOP.format("SOON")},
        "`stops[].kind` is no value of the enum `trips.Trip.Stop.Kind`",
    ),
    ({"stops": STOP.format("9"), "start": "named_struct('lat', 1, 'lon', null)"}, None),
    ({"stops": "array(null)"}, "`stops` has an element that is null"),
    ({"counts": "map('a', null)"}, "`counts` has a value that is null"),
    ({"id": "cast(x'ff' as string)"}, "`id` is not valid UTF-8"),
    ({"note": "cast(x'ff' as string)"}, "`note` is not valid UTF-8"),
    ({"at": "timestamp_seconds(300000000000)"}, "`at` is not a time of the years 1 to 9999"),
    ({"took": "make_dt_interval(4000000)"}, "`took` is longer than 10,000 years"),
    ({"more": "'[1]'"}, "`more` is not JSON of `google.protobuf.Struct`: "),
    (
        {
            "id": "'a'",
            "paid": "false",
            "cash": "'c'",
            "note": "''",
            "counts": "map('k', 1)",
            "at": "timestamp'2026-01-02 03:04:05.678901'",
            "took": "interval -90 second",
            "more": """'{"a": 1}'""",
            "amount": "-5",
            "stops": STOP.format("LONG"),
        },
        None,
    ),
]
"""The columns of a row that are not null, in SQL, and what is wrong with it."""


def payloads(spark: SparkSession, kind: StructType) -> DataFrame:
    frames = []
    for row, (given, _) in enumerate(ROWS):
        columns = [F.expr(given.get(f.name, "null")).cast(f.dataType).alias(f.name) for f in kind]
        frames.append(spark.range(1).select(F.lit(row).alias("row"), F.struct(*columns).alias("p")))
    return reduce(DataFrame.unionByName, frames).coalesce(1)


def test_rows_are_written_for_others_to_read_or_have_a_reason(
    spark: SparkSession, client: SchemaRegistryClient
) -> None:
    context = SerializationContext(f"trips-{uuid4().hex[:8]}", MessageField.VALUE)
    trip = message_class(parsed(trips(0, NEW)), "trips.Trip")
    registered = ProtobufSerializer(trip, client)(trip(), context)
    assert registered is not None
    schema = trips(int.from_bytes(registered[1:5], "big"), NEW)
    bound = contract(schema, schema)
    kind = protobuf.columns(parsed(schema), spark, Protobuf(message="trips.Trip"))
    rows, payload = payloads(spark, kind), F.col("p")

    written = rows.select(
        "row",
        wire.framed(schema.id, protobuf.encoded(bound, payload)).alias("value"),
        protobuf.unwritable(bound, payload).alias("problem"),
    ).persist()
    found = written.collect()
    back = decoded(written.where("problem is null"), bound).collect()
    written.unpersist()

    expected = [problem for _, problem in ROWS]
    told = [
        row["problem"] and row["problem"][: len(problem or "") or None]
        for row, problem in zip(found, expected, strict=True)
    ]
    assert told == expected
    assert [row["row"] for row in found if row["value"] is None] == [
        row for row, problem in enumerate(expected) if problem
    ]
    assert [row["bad"] for row in back] == [None] * expected.count(None)
    again = back[-1].asDict(recursive=True)
    assert {name: again[name] for name in ROWS[-1][0]} == {
        "id": "a",
        "paid": False,
        "cash": "c",
        "note": "",
        "counts": {"k": 1},
        "amount": -5,
        "at": datetime(2026, 1, 2, 3, 4, 5, 678901),  # noqa: DTZ001 - as the session's zone has it
        "took": timedelta(seconds=-90),
        "more": '{"a": 1.0}',
        "stops": [{"place": "x", "kind": "LONG"}],
    }
    read = ProtobufDeserializer(trip, {}, client)(bytes(found[-1]["value"]), context)
    assert (read.id, read.HasField("paid"), read.paid, read.cash) == ("a", True, False, "c")
    assert (read.at.ToJsonString(), read.took.ToJsonString(), read.amount) == (
        *("2026-01-02T03:04:05.678901Z", "-90s", -5),
    )
