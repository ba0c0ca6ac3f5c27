"""A copy of a topic in Spark's real-time mode, until the process is told to end.

Needs a task slot for each partition: `--master 'local[5]'` for four, and one to spare.
"""

from bench.hand_written.program import arguments, read, session, write

if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    records = read(spark, given, limited=False).selectExpr("key", "value")
    query = write(records, given, output_mode="update")
    # pyspark's overloads forget this trigger.
    query.trigger(realTime="5 seconds").start().awaitTermination()  # type: ignore[call-overload]
