"""Every type of Avro: what others write is read, and what is written others read."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from pyspark.sql import functions as F

from penstock.engine.contracts import avro, formats, wire
from penstock.engine.contracts.avro_inferring import inferred
from penstock.engine.contracts.errors import UninferrableSchemaError
from penstock.names import Subject
from penstock.pipeline import Avro, Contract, Framing, WriterSchema
from penstock.schemas import SchemaType, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.timeout(300)  # the first plans of a session are slow on a busy machine

EVERY_TYPE = {
    "type": "record",
    "name": "Everything",
    "namespace": "trial",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "small", "type": "int"},
        {"name": "big", "type": "long"},
        {"name": "single", "type": "float"},
        {"name": "double", "type": "double"},
        {"name": "text", "type": "string"},
        {"name": "raw", "type": "bytes"},
        {"name": "maybe", "type": ["null", "string"], "default": None},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}},
        {"name": "checksum", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {"name": "numbers", "type": {"type": "array", "items": "int"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {
            "name": "inner",
            "type": {
                "type": "record",
                "name": "Inner",
                "fields": [{"name": "a", "type": "int"}, {"name": "c", "type": "Colour"}],
            },
        },
        {"name": "number_or_text", "type": ["int", "string", "null"]},
        {"name": "int_or_long", "type": ["int", "long"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "local_millis", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "at_millis", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "at_micros", "type": {"type": "long", "logicalType": "time-micros"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {
            "name": "fixed_price",
            "type": {
                "type": "fixed",
                "name": "Money",
                "size": 8,
                "logicalType": "decimal",
                "precision": 12,
                "scale": 3,
            },
        },
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
    ],
}
MOMENT = datetime(2026, 5, 1, 12, 30, 15, 250000, tzinfo=UTC)
UUID = "2f1c8b9e-8a52-4a1e-9a55-0d8c5a3f1b11"
ROW: dict[str, Any] = {
    "flag": True,
    "small": -7,
    "big": 2**40,
    "single": 1.5,
    "double": -2.25,
    "text": "grüß",
    "raw": b"\x00\xff",
    "maybe": None,
    "colour": "BLUE",
    "checksum": b"abcd",
    "numbers": [1, 2, 3],
    "counts": {"a": 1},
    "inner": {"a": 5, "c": "RED"},
    "number_or_text": "seven",
    "int_or_long": 2**35,
    "day": date(2026, 5, 1),
    "millis": MOMENT,
    "micros": MOMENT + timedelta(microseconds=7),
    "local": MOMENT.replace(tzinfo=None),
    "local_millis": MOMENT.replace(tzinfo=None),
    "at_millis": time(9, 30),
    "at_micros": time(9, 30, 0, 17),
    "price": Decimal("12.34"),
    "fixed_price": Decimal("-5.125"),
    "id": UUID,
}


def contract(spark: SparkSession, schema: object, *writers: object, **changes: Any) -> Contract:  # noqa: ANN401 - any field
    """Return a contract whose writers have ids from 1 on; without any, the reader is the one."""
    texts = [json.dumps(item) for item in writers or (schema,)]
    format_ = Avro(framing=changes.pop("framing", Framing.PREFIX))
    reader = parse(SchemaType.AVRO, json.dumps(schema))
    made: dict[str, Any] = {
        "format": format_,
        "subject": Subject("trial-value"),
        "is_key": False,
        "reader": WriterSchema(id=1, text=json.dumps(schema)),
        "columns": avro.columns(reader, spark, format_).toDDL(),
        "writers": tuple(WriterSchema(id=n + 1, text=text) for n, text in enumerate(texts)),
        "written": WriterSchema(id=1, text=json.dumps(schema)),
    }
    return Contract(**(made | changes))


def written(schema: Any, row: object, schema_id: int = 1) -> bytes:  # noqa: ANN401 - JSON
    """Return what another client sends."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return wire.prefix_of(schema_id) + out.getvalue()


def read(spark: SparkSession, bound: Contract, values: Sequence[bytes | None]) -> list[Row]:
    """Return the columns of each value and the reason of those that have none."""
    decoder = formats.decoder(bound)
    frame = spark.createDataFrame([(value,) for value in values], "value binary")
    parsed = frame.select("value", decoder.parsed(F.col("value")).alias("parsed"))
    reason = decoder.reason(F.col("value"), F.col("parsed"), "value")
    return parsed.select(*decoder.columns(F.col("parsed")), reason.alias("reason")).collect()


@pytest.mark.long
def test_what_others_write_is_read_and_what_is_written_others_read(spark: SparkSession) -> None:
    bound = contract(spark, EVERY_TYPE)
    (row,) = read(spark, bound, [written(EVERY_TYPE, ROW)])
    found = row.asDict(recursive=True)

    assert found.pop("reason") is None
    assert found.pop("number_or_text") == {"member_int": None, "member_string": "seven"}
    for name in ("millis", "micros"):  # PySpark has them in the zone of this process
        found[name] = found[name].astimezone(UTC)
    assert found == {name: value for name, value in ROW.items() if name != "number_or_text"}

    decoder = formats.decoder(bound)
    frame = spark.createDataFrame([(written(EVERY_TYPE, ROW),)], "value binary")
    columns = decoder.columns(decoder.parsed(F.col("value")))
    payload = F.struct(*frame.select(*columns).columns)
    rows = frame.select(*columns).select(
        formats.encoded(bound, payload).alias("value"),
        formats.unwritable(bound, payload).alias("problem"),
    )
    (again,) = rows.collect()
    assert again["problem"] is None
    assert bytes(again["value"]) == written(EVERY_TYPE, ROW)


V1 = {
    "type": "record",
    "name": "Customer",
    "fields": [{"name": "id", "type": "int"}, {"name": "fax", "type": "string"}],
}
V2 = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": ["null", "string"], "default": None},
    ],
}


def test_each_record_is_read_by_the_schema_it_was_written_with(spark: SparkSession) -> None:
    bound = contract(spark, V2, V1, V2, refused={9: "schema id 9 is not in the registry"})
    rows = read(
        spark,
        bound,
        [
            written(V1, {"id": 1, "fax": "12"}, 1),
            written(V2, {"id": 2**40, "email": "a@b"}, 2),
            written(V2, {"id": 3, "email": None}, 2),
            written(V1, {"id": 4, "fax": "12"}, 9),
            wire.prefix_of(1) + b"\x02\xff",
            b"",
            b"\x00\x00",
            b"{}",
            b"\x05\x00\x00\x00\x01\x02",
        ],
    )

    assert [(row.id, row.email) for row in rows[:3]] == [(1, None), (2**40, "a@b"), (3, None)]
    foreign = "value is not in a registry's wire format"
    assert [row.reason for row in rows] == [
        *(None, None, None),
        "value: schema id 9 is not in the registry",
        "value is not Avro of schema id 1",
        *(foreign, foreign, foreign, foreign),
    ]


def test_an_id_that_nobody_asked_about_fails_the_batch(spark: SparkSession) -> None:
    bound = contract(spark, V2)

    with pytest.raises(Exception, match="trial-value") as caught:
        read(spark, bound, [written(V2, {"id": 3, "email": None}, 77)])

    assert wire.unknown_in(str(caught.value)) == wire.UnknownId(subject="trial-value", id="77")


def test_a_record_full_of_nulls_is_told_from_a_broken_one(spark: SparkSession) -> None:
    maybe = [{"name": name, "type": ["null", "string"]} for name in ("fax", "email")]
    nothing = {"type": "record", "name": "Address", "fields": maybe}
    values = [written(nothing, {"fax": None, "email": None}), wire.prefix_of(1) + b"\x09"]

    rows = read(spark, contract(spark, nothing), values)

    assert [row.reason for row in rows] == [None, "value is not Avro of schema id 1"]
    assert [(row.fax, row.email) for row in rows] == [(None, None)] * 2


def test_types_that_are_no_records_have_one_column(spark: SparkSession) -> None:
    texts = read(spark, contract(spark, "string"), [written("string", "x"), b"\x00"])
    union = ["null", "long"]
    numbers = read(spark, contract(spark, union), [written(union, 5), written(union, None)])

    assert [(row.value, row.reason is None) for row in texts] == [("x", True), (None, False)]
    assert [(row.value, row.reason) for row in numbers] == [(5, None), (None, None)]


def test_a_type_within_itself_is_read_to_a_depth(spark: SparkSession) -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [
            {"name": "value", "type": "int"},
            {"name": "next", "type": ["null", "Node"], "default": None},
        ],
    }
    chain = {"value": 1, "next": {"value": 2, "next": {"value": 3, "next": None}}}

    (row,) = read(spark, contract(spark, node), [written(node, chain)])

    assert row.reason is None
    assert (row.value, row.next.value, row.next.next.value) == (1, 2, 3)


def test_data_without_ids(spark: SparkSession) -> None:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(V1), {"id": 1, "fax": "9"})
    bare = contract(spark, V1, framing=Framing.BARE)
    single = contract(spark, V2, V1, V2, framing=Framing.SINGLE_OBJECT)
    mark = avro.single_object_prefix(WriterSchema(id=0, text=json.dumps(V1)))

    assert [(row.id, row.fax) for row in read(spark, bare, [out.getvalue()])] == [(1, "9")]
    rows = read(spark, single, [mark + out.getvalue(), b"\xc3\x01" + b"\x00" * 9, mark])
    assert [(row.id, row.reason) for row in rows] == [
        (1, None),
        (None, "value is not Avro with the fingerprint of a schema of the project"),
        (None, "value is not Avro of the schema that its fingerprint names"),
    ]


def test_the_fingerprint_is_that_of_the_specification() -> None:
    whole = avro.single_object_prefix(WriterSchema(id=0, text='"int"'))

    assert whole.hex() == "c3018f5c393f1ad57572"


def test_rows_that_avro_has_no_form_for_are_found(spark: SparkSession) -> None:
    schema = {
        "type": "record",
        "name": "Strict",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED"]}},
            {"name": "four", "type": ["null", {"type": "fixed", "name": "Four", "size": 4}]},
            {
                "name": "lines",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Line",
                        "fields": [{"name": "sku", "type": "string"}],
                    },
                },
            },
        ],
    }
    bound = contract(spark, schema)
    rows = [
        (1, "RED", b"1234", [("a",)]),
        (None, "RED", None, []),
        (1, "BLUE", None, []),
        (1, "RED", b"1", []),
        (1, "RED", None, [("a",), (None,)]),
        (1, "RED", None, None),
    ]
    frame = spark.createDataFrame(rows, bound.columns.replace(" NOT NULL", ""))
    found = frame.select(formats.unwritable(bound, F.struct(*frame.columns)).alias("why"))

    assert [row.why for row in found.collect()] == [
        None,
        "`/id` is null, which its schema does not allow",
        "`/colour` is no symbol of its enum",
        "`/four` does not have 4 bytes",
        "`/lines/items/sku` is null, which its schema does not allow",
        "`/lines` is null, which its schema does not allow",
    ]


def test_a_schema_is_made_for_columns_that_have_none(spark: SparkSession) -> None:
    ddl = (
        "id bigint NOT NULL, name string, price decimal(9,2), at timestamp, day date, tags "
        "array<string>, sizes map<string,int>, place struct<lat:double,lon:double>, raw binary, "
        "opens time"
    )
    columns = spark.createDataFrame([], ddl).schema
    made = json.loads(inferred("Order", columns))
    bound = contract(spark, made)

    assert spark.createDataFrame([], bound.columns).dtypes == spark.createDataFrame([], ddl).dtypes
    assert [field for field in made["fields"] if "default" not in field] == [
        {"name": "id", "type": "long"}
    ]
    with pytest.raises(UninferrableSchemaError, match="`first name`"):
        inferred("Order", spark.createDataFrame([], "`first name` string").schema)
