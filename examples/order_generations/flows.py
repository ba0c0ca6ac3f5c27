"""Two generations of a schema, side by side, while programs move from the one to the other.

No reader of `orders-v1` can resolve an order of the second generation: amounts are decimals, times
are times, and there is a currency. So the second has a topic of its own. Whatever is still written
to the first is translated into it: consumers can move at once, producers one after the other.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps

ps.topic(
    "orders_v1",
    kafka_name="orders-v1",
    value=ps.avro(),  # schemas/orders-v1-value.avsc
    partitions=2,
    description="orders of the first generation, until nobody writes them",
)
ps.topic(
    "orders_v2",
    kafka_name="orders-v2",
    value=ps.avro(),  # schemas/orders-v2-value.avsc
    key="id",
    partitions=2,
    description="all orders: translated, and those that are written here",
)
ps.topic(
    "writers",
    kafka_name="order-writers",
    value=ps.json("written_to string, orders bigint, last_at timestamp"),
    key="written_to",
    partitions=1,
    compacted=True,
    description="how many orders came by which generation, and when last",
)

ORIGIN = "translated-from"
"""The header of orders that were not written as they are."""


@ps.flow(into="orders_v2")
def translate(orders_v1: DataFrame) -> DataFrame:
    """Orders of the first generation as the second has them.

    What cannot be said in it (no date, no number) becomes null, which its schema does not allow:
    such an order is a dead letter, to be looked at by somebody.
    """
    return orders_v1.select(
        "id",
        "customer",
        F.expr("try_cast(amount AS decimal(10,2))").alias("total"),
        F.lit("EUR").alias("currency"),  # the first generation knew no other
        F.expr("try_cast(placed AS timestamp)").alias("placed_at"),
        F.lit(None).cast("int").alias("return_code"),
        F.create_map(F.lit(ORIGIN), F.lit("orders-v1")).alias("_headers"),
    )


@ps.flow(into="writers", output_mode="update")
def count_writers(orders_v2: DataFrame) -> DataFrame:
    """How far producers have come: `orders-v1` is done when its last order is long ago."""
    marks = F.filter("_record.headers", lambda header: header["key"] == ORIGIN)
    origin = F.try_element_at(marks, F.lit(1))["value"].cast("string")
    return orders_v2.groupBy(
        F.coalesce(origin, F.lit("orders-v2")).alias("written_to"),
    ).agg(F.count("*").alias("orders"), F.max("_record.timestamp").alias("last_at"))
