"""A copy of a topic in micro-batches as fast as they go, until the process is told to end."""

from bench.hand_written.program import arguments, read, session, write

if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    records = read(spark, given).selectExpr("key", "value")
    write(records, given).start().awaitTermination()
