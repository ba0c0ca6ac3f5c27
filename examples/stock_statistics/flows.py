"""Stock statistics: how often, how cheaply and at which average price each ticker was offered.

Trades come in through the topic `stocks`. Their payload has no time: the event time is the
record's own, which the producer gave it. Windows have 5 s and begin every second, so each trade
counts in five of them.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps

ps.topic(
    "stocks",
    # Fields that are not declared, such as those of bids, are passed over.
    value=ps.json("ticker string, askPrice double, askSize int"),
    key="ticker",
    partitions=4,
    description="offers to sell: price of one share, and number of shares",
)
ps.topic(
    "statistics",
    kafka_name="stockstats-output",
    value=ps.json(
        "ticker string, window_start timestamp, trades bigint, minimum double, average double"
    ),
    key=("ticker", "window_start"),
    key_format=ps.json("ticker string, window_start timestamp"),
    partitions=4,
    compacted=True,
    description="trades of each ticker in 5 s, a new window every second",
)


@ps.flow(into="statistics", output_mode="update", trigger="1 second")
def summarize(stocks: DataFrame) -> DataFrame:
    """Count, minimum and average of the prices of each ticker in each window."""
    return (
        stocks.withColumn("time", F.col("_record.timestamp"))
        .withWatermark("time", "10 seconds")
        .groupBy("ticker", F.window("time", "5 seconds", "1 second").alias("window"))
        .agg(
            F.count("*").alias("trades"),
            F.min("askPrice").alias("minimum"),
            F.avg("askPrice").alias("average"),
        )
        .select(
            "ticker",
            F.col("window.start").alias("window_start"),
            "trades",
            "minimum",
            "average",
        )
    )
