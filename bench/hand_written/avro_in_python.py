"""Orders of one country, from Avro behind a registry's prefix, decoded by fastavro in batches."""

import io
from collections.abc import Iterator

import fastavro
import pyarrow as pa
from bench.hand_written.orders import generation
from bench.hand_written.program import arguments, read, session, write

_SCHEMA = fastavro.parse_schema(generation(4))
_COLUMNS = "id bigint, country string, amount double"


def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode each record in turn."""
    for batch in batches:
        rows = []
        for value in batch.column("value"):
            data = io.BytesIO(value.as_py()[5:])
            row = fastavro.schemaless_reader(data, _SCHEMA, None)
            assert isinstance(row, dict)  # noqa: S101 - the schema is a record
            rows.append({name: row[name] for name in ("id", "country", "amount")})
        yield pa.RecordBatch.from_pylist(
            rows, pa.schema({"id": pa.int64(), "country": pa.string(), "amount": pa.float64()})
        )


if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    records = read(spark, given).select("value")
    orders = records.mapInArrow(decoded, _COLUMNS).where("country = 'DE'")
    rows = orders.selectExpr("to_json(struct(id, amount)) AS value")
    write(rows, given).trigger(availableNow=True).start().awaitTermination()
    spark.stop()
