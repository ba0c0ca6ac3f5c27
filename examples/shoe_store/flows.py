"""A shoe store: its events as a stream, and as the tables that they add up to.

What happens in the store comes in through the topic `shoe-events`: shipments, sales and returns.
As a stream nothing of it is ever replaced: the blue pair that came back was sold, and returned, and
both stay. As a table only the present counts: what is on the shelf, and what is in the till.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps

ps.topic(
    "events",
    kafka_name="shoe-events",
    value=ps.json("at timestamp, kind string, shoes array<string>, price decimal(10,2)"),
    partitions=1,
    description="shipments, sales and returns; the price is that of each pair",
)
ps.topic(
    "movements",
    kafka_name="shoe-movements",
    value=ps.json("at timestamp, kind string, color string, pairs bigint, cash decimal(10,2)"),
    key="color",
    partitions=1,
    description="the stream: each pair that came or went, and the money for it",
)
ps.topic(
    "inventory",
    kafka_name="shoe-inventory",
    value=ps.json("color string, pairs bigint"),
    key="color",
    partitions=1,
    compacted=True,
    description="the table as a topic: the pairs of each color; sold-out colors are deleted",
)
ps.table("shoe_shelf", description="the table as a table: the colors that are there")
ps.table("shoe_till", description="one row: how busy the store was, and what it has earned")


@ps.view
def booked(events: DataFrame) -> DataFrame:
    """Events with what each pair means to the store: one more or less, and the money for it."""
    # What arrives with a shipment has no price yet.
    price = F.coalesce("price", F.lit(0))
    return events.withColumns(
        {
            "pairs": F.expr("CASE kind WHEN 'sale' THEN -1 ELSE 1 END").cast("bigint"),
            "cash": (
                F.when(F.col("kind") == "sale", price)
                .when(F.col("kind") == "return", -price)
                .otherwise(0)
                .cast("decimal(10,2)")
            ),
        }
    )


@ps.view
def changes(booked: DataFrame) -> DataFrame:
    """One row for each pair that comes or goes."""
    return booked.select("at", "kind", F.explode("shoes").alias("color"), "pairs", "cash")


@ps.flow(into="movements")
def list_movements(changes: DataFrame) -> DataFrame:
    """The stream: changes of one color stand beside each other."""
    return changes


@ps.flow(into="inventory", output_mode="update")
def keep_inventory(changes: DataFrame) -> DataFrame:
    """The table: the last number of a color replaces the others, and nothing is no number."""
    counted = changes.groupBy("color").agg(F.sum("pairs").alias("pairs"))
    # A row without anything beside its key deletes the key from a compacted topic.
    return counted.select("color", F.nullif("pairs", F.lit(0)).alias("pairs"))


@ps.flow(into="shoe_shelf", output_mode="complete")
def fill_shelf(changes: DataFrame) -> DataFrame:
    """The same table as a whole, written anew after each batch."""
    return changes.groupBy("color").agg(F.sum("pairs").alias("pairs")).where("pairs > 0")


@ps.flow(into="shoe_till", output_mode="complete")
def count_cash(booked: DataFrame) -> DataFrame:
    """How many transactions there were, and what they left in the till."""
    return booked.groupBy().agg(
        F.count("*").alias("transactions"), F.sum(F.expr("cash * size(shoes)")).alias("cash")
    )
