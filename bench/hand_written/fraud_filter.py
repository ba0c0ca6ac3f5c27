"""The fraud filter: lines from blocked addresses go to another topic; ends when all is read."""

from bench.hand_written.program import arguments, fraud_filter, read, session, write

if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    query = write(fraud_filter(spark, read(spark, given)), given)
    query.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
