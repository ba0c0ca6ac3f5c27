"""Orders of one country, from Avro behind a registry's prefix, read by Spark's own function.

All records must have one schema: the function has no other way.
"""

import json

from bench.hand_written.orders import generation
from bench.hand_written.program import arguments, read, session, write
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

if __name__ == "__main__":
    given = arguments(__doc__)
    spark = session(given)
    decoded = from_avro(F.expr("substring(value, 6)"), json.dumps(generation(4)))
    orders = read(spark, given).select(decoded.alias("o")).where("o.country = 'DE'")
    rows = orders.select(F.to_json(F.struct("o.id", "o.amount")).alias("value"))
    write(rows, given).trigger(availableNow=True).start().awaitTermination()
    spark.stop()
