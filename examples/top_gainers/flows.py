"""Top gainers: the ten stocks that gained most in a day, found in two stages.

The first stage works on each stock by itself, as parallel as there are partitions. What a stock has
gained by the end of the day goes to a topic with one partition, where the second stage sees all of
them and keeps ten.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps

TOP = 10

ps.topic(
    "trades",
    kafka_name="gainers.trades",
    value=ps.json("ticker string, price double, at timestamp"),
    key="ticker",
    partitions=4,
    event_time="at",
    allowed_lateness="1 minute",
    description="what was paid for a share",
)
ps.topic(
    "gains",
    kafka_name="gainers.gains",
    value=ps.json("ticker string, day timestamp, opened double, closed double, gain double"),
    key="ticker",
    partitions=1,
    event_time="day",
    allowed_lateness="7 days",  # a stock that nobody trades for days delays nobody
    description="by how much each stock was worth more in the end of a day than in its beginning",
)
ps.topic(
    "top_gainers",
    kafka_name="gainers.top",
    value=ps.json("day timestamp, rank int, ticker string, gain double"),
    key=("day", "rank"),
    key_format=ps.json("day timestamp, rank int"),
    partitions=1,
    compacted=True,
    description="the ten best of each day; the last record of a rank counts",
)


@ps.flow(into="gains")
def gains_of_a_day(trades: DataFrame) -> DataFrame:
    """Gain from the first to the last price of a stock, once the day is over."""
    return (
        trades.where("price > 0")
        .groupBy("ticker", F.window("at", "1 day").alias("window"))
        .agg(F.min_by("price", "at").alias("opened"), F.max_by("price", "at").alias("closed"))
        .select(
            "ticker",
            F.col("window.start").alias("day"),
            "opened",
            "closed",
            (F.col("closed") / F.col("opened") - 1).alias("gain"),
        )
    )


@ps.flow(into="top_gainers", output_mode="update")
def rank_gains(gains: DataFrame) -> DataFrame:
    """The ten largest gains of a day, from all gains so far."""
    # The least of the negated gains come first, and equal ones in the order of the alphabet. A set,
    # because the first stage may repeat its last gains after a crash.
    entry = F.struct((-F.col("gain")).alias("loss"), "ticker")
    return (
        gains.groupBy("day")
        .agg(F.slice(F.sort_array(F.collect_set(entry)), 1, TOP).alias("best"))
        .select("day", F.posexplode("best").alias("place", "entry"))
        .select(
            "day",
            (F.col("place") + 1).alias("rank"),
            "entry.ticker",
            (-F.col("entry.loss")).alias("gain"),
        )
    )
