"""Payments come as JSON from whoever sends them, and go on as Avro under one schema.

The conversion stands before everything else: flows that work with payments read Avro, and never
meet a payment without an id. Rows that the schema does not allow are dead letters.
"""

from pyspark.sql import DataFrame

import penstock as ps

ps.topic(
    "received",
    kafka_name="payments-json",
    value=ps.json(
        "id string, account string, amount decimal(10,2), currency string, paid_at timestamp,"
        " note string"
    ),
    partitions=2,
    description="payments as they come",
)
ps.topic(
    "payments",
    kafka_name="payments-avro",
    value=ps.avro(),  # schemas/payments-avro-value.avsc
    key="account",
    partitions=2,
    description="payments as everybody may rely on them",
)
ps.topic(
    "anything",
    kafka_name="payments-inferred",
    value=ps.avro(),  # there is no file: the schema is made from the columns
    key="account",
    partitions=2,
    description="the same without a schema of ours: every field may be absent",
)


@ps.flow(into="payments")
def convert(received: DataFrame) -> DataFrame:
    """JSON to Avro, by the schema of the project."""
    return received


@ps.flow(into="anything")
def convert_anything(received: DataFrame) -> DataFrame:
    """JSON to Avro, by a schema that fits the columns."""
    return received
