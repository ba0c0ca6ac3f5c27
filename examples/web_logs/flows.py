"""Web logs: which pages are read most, from files as a batch and from a topic as a stream.

A line of the log is a JSON object. The functions `content_pages`, `per_day` and `per_window` do
not know where lines come from: the flows give them the files of `archive`, or the topic `weblogs`.
Ranks are not stored: a stream has no last row, so sorting is for whoever reads the counts.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import penstock as ps

LINE = ps.json("host string, timestamp timestamp, request string, http_reply int, bytes bigint")
PAGE_EXTENSIONS = ("", ".htm", ".html")
"""What the names of pages end with; directories end with nothing."""

ps.files("archive", "archive/*.json", value=LINE, description="a file for each day")
ps.topic(
    "weblogs",
    value=LINE,
    # One partition keeps the order, so that days may be replayed in seconds and nothing is late.
    partitions=1,
    description="the same lines as they happen",
)
for name, kafka_name in {
    "archived_requests": "weblogs-archived-requests",
    "archived_pages": "weblogs-archived-pages",
    "daily_pages": "weblogs-daily-pages",
}.items():
    ps.topic(
        name,
        kafka_name=kafka_name,
        value=ps.json("day date, request string, hits bigint"),
        key=("day", "request"),
        key_format=ps.json("day date, request string"),
        partitions=1,
        compacted=True,
    )
ps.topic(
    "urlranks",
    value=ps.json("request string, window_start timestamp, window_end timestamp, hits bigint"),
    key=("request", "window_start"),
    key_format=ps.json("request string, window_start timestamp"),
    partitions=1,
    compacted=True,
    description="hits of each page in 5 minutes, a new window every minute",
)


def lenient_rule(url: Column) -> Column:
    """Tell pages by what follows the first dot among the last five characters.

    It keeps longer extensions (`.shtml`, `.class`) and most queries, as their dot is farther away,
    and rejects directories such as `/v1.2/`.
    """
    return F.regexp_extract(F.right(url, F.lit(5)), r"\..*$", 0).isin(*PAGE_EXTENSIONS)


def strict_rule(url: Column) -> Column:
    """Tell pages by the extension of the file; what has a query is none."""
    extension = F.regexp_extract(url, r"(\.[^./]*)?$", 0)
    return ~url.contains("?") & extension.isin(*PAGE_EXTENSIONS)


def content_pages(
    logs: DataFrame, *, is_page: Callable[[Column], Column] = lenient_rule
) -> DataFrame:
    """Return the lines that ask for pages, with the address as `request`.

    Other methods than GET do not count, nor requests that name no protocol.
    """
    # Without a match the address is empty, which both rules would take for a directory.
    address = F.regexp_extract("request", r"^GET (.+) HTTP/\d.\d$", 1)
    addressed = logs.withColumn("request", address).where("request <> ''")
    return addressed.where(is_page(F.col("request")))


def per_day(logs: DataFrame) -> DataFrame:
    """Return how often each request came on each day of UTC."""
    return (
        logs.withWatermark("timestamp", "1 hour")
        .groupBy("request", F.window("timestamp", "1 day").alias("window"))
        .agg(F.count("*").alias("hits"))
        .select(F.to_date("window.start").alias("day"), "request", "hits")
    )


def per_window(logs: DataFrame) -> DataFrame:
    """Return how often each request came in windows of 5 minutes that begin every minute."""
    return (
        logs.withWatermark("timestamp", "10 minutes")
        .groupBy("request", F.window("timestamp", "5 minutes", "1 minute").alias("window"))
        .agg(F.count("*").alias("hits"))
        .select(
            "request",
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
            "hits",
        )
    )


@ps.flow(into="archived_requests", output_mode="update")
def count_archived_requests(archive: DataFrame) -> DataFrame:
    """Every request of the files, by day."""
    return per_day(archive)


@ps.flow(into="archived_pages", output_mode="update")
def count_archived_pages(archive: DataFrame) -> DataFrame:
    """The pages of the files, by day."""
    return per_day(content_pages(archive))


@ps.flow(into="daily_pages", output_mode="update")
def count_daily_pages(weblogs: DataFrame) -> DataFrame:
    """The pages of the topic, by day."""
    return per_day(content_pages(weblogs))


@ps.flow(into="urlranks", output_mode="update")
def rank_urls(weblogs: DataFrame) -> DataFrame:
    """The pages of the topic, of the last five minutes."""
    return per_window(content_pages(weblogs))
