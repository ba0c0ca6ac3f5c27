"""The fraud filter on a small topic: how long from the command to the first output?

Micro-batches as fast as they go, until the process is told to end.
"""

from bench.hand_written.program import arguments, fraud_filter, read, session, write

if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    write(fraud_filter(spark, read(spark, given)), given).start().awaitTermination()
