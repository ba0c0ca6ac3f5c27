"""Requests per first octet in windows of ten seconds, in update mode; ends when all is read.

Event time is the records' timestamp.
"""

from bench.hand_written.program import arguments, read, session, write
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def requests_by_window(records: DataFrame) -> DataFrame:
    """Return a row for each octet and window, as JSON keyed by both."""
    return (
        records.withColumn("octet", F.expr("substring_index(CAST(value AS STRING), '.', 1)"))
        .withWatermark("timestamp", "1 minute")
        .groupBy("octet", F.window("timestamp", "10 seconds").alias("window"))
        .agg(F.count("*").alias("requests"))
        .selectExpr(
            "concat(octet, '@', window.start) AS key",
            "to_json(struct(octet, window.start AS start, requests)) AS value",
        )
    )


if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    query = write(requests_by_window(read(spark, given)), given, output_mode="update")
    query.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
