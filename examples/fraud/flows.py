"""Fraud detection in web logs: requests from blocked networks are found, counted and kept.

Lines in Common Log Format come in through the topic `iprecord`. A host is an address or a domain
name; an address is blocked when its first octet is listed in `blocked_octets.csv`, which may change
while the pipeline runs.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import penstock as ps

ALL_HOSTS = "*"
"""The host of the rows that count every request, blocked or not."""

ps.topic(
    "iprecord",
    # A line of the log is a line of values separated by spaces, in which the request is quoted.
    value=ps.csv(
        "host string, ident string, user string, time string, zone string, request string,"
        " status int, bytes string",
        separator=" ",
    ),
    partitions=4,
    description="web-log lines as servers write them",
)
ps.topic(
    "fraudip",
    value=ps.json(
        "host string, time timestamp, method string, path string, protocol string, status int,"
        " bytes bigint, received timestamp"
    ),
    key="host",
    partitions=4,
    description="requests from blocked networks",
)
ps.topic(
    "fraudwindows",
    value=ps.json(
        "host string, window_start timestamp, hits bigint, requests bigint, share double"
    ),
    key=("host", "window_start"),
    key_format=ps.json("host string, window_start timestamp"),
    partitions=4,
    compacted=True,
    description="hits per host in ten seconds; the host `*` has the share of all requests",
)
ps.table("weblog", partition_by="day", description="every line, for questions about the past")
ps.lookup(
    "blocked_octets",
    ps.csv_file("blocked_octets.csv", "octet int", header=True),
    reload_every="2 seconds",
)


@ps.view
def requests(iprecord: DataFrame) -> DataFrame:
    """Requests with the ten fields of the log, typed."""
    part = F.split("request", " ")
    return iprecord.select(
        "host",
        "ident",
        "user",
        F.try_to_timestamp(
            F.concat_ws(" ", "time", "zone"), F.lit("'['dd/MMM/yyyy:HH:mm:ss Z']'")
        ).alias("time"),
        F.regexp_extract("zone", r"[+-]\d{4}", 0).alias("zone"),
        F.get(part, 0).alias("method"),
        F.get(part, 1).alias("path"),
        F.get(part, 2).alias("protocol"),
        "status",
        F.col("bytes").try_cast("bigint").alias("bytes"),
        F.col("_record.timestamp").alias("received"),
    )


def first_octet(host: Column) -> Column:
    """Return the first octet of an address; null for the name of a domain."""
    return F.regexp_extract(host, r"^(\d{1,3})(?:\.\d{1,3}){3}$", 1).try_cast("int")


@ps.flow(into="fraudip")
def detect(requests: DataFrame, blocked_octets: DataFrame) -> DataFrame:
    """Requests from blocked networks, keyed by host."""
    is_blocked = first_octet(F.col("host")) == F.col("octet")
    return requests.join(blocked_octets, is_blocked, "left_semi").drop("ident", "user", "zone")


@ps.flow(into="fraudwindows", output_mode="update")
def count(requests: DataFrame, blocked_octets: DataFrame) -> DataFrame:
    """Hits of each blocked host, and their share of all requests, in windows of ten seconds."""
    known = requests.join(blocked_octets, first_octet(F.col("host")) == F.col("octet"), "left")
    hit = F.col("octet").isNotNull()
    rows = F.when(hit, F.array(F.lit(ALL_HOSTS), F.col("host"))).otherwise(
        F.array(F.lit(ALL_HOSTS))
    )
    return (
        known.withColumn("hit", hit.cast("int"))
        .withColumn("host", F.explode(rows))
        .withWatermark("time", "1 minute")
        .groupBy("host", F.window("time", "10 seconds").alias("window"))
        .agg(F.sum("hit").alias("hits"), F.count("*").alias("requests"))
        .select(
            "host",
            F.col("window.start").alias("window_start"),
            "hits",
            "requests",
            (F.col("hits") / F.col("requests")).alias("share"),
        )
    )


@ps.flow(into="weblog")
def land(requests: DataFrame) -> DataFrame:
    """Every request, in folders by day."""
    return requests.withColumn("day", F.to_date("time"))
