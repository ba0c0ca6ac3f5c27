"""Web logs: what counts as a page, and the same counts from files and topic, stream and batch."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from support.example_runs import EXAMPLES, ExampleRuns, last_values, load_script
from support.producing import Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import Column, SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)  # flows are started several times

FLOWS = load_script("web_logs/flows.py")
SAMPLE = load_script("web_logs/sample.py")
ARCHIVE = sorted((EXAMPLES / "web_logs" / "archive").iterdir())
MINUTE = timedelta(minutes=1)

Hits = Counter[tuple[str, ...]]


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("web_logs", spark, kafka, tmp_path) as runs:
        yield runs


def verdicts(
    spark: SparkSession, rule: Callable[[Column], Column], urls: Iterable[str]
) -> dict[str, bool]:
    frame = spark.createDataFrame([(url,) for url in urls], "url string")
    return dict(tuple(row) for row in frame.select("url", rule(F.col("url"))).collect())


def test_the_rule_looks_at_the_last_five_characters(spark: SparkSession) -> None:
    expected = {
        "/": True,
        "/launch/": True,
        "/x.html": True,
        "/x.htm": True,
        "/x.shtml": True,
        "/x.class": True,
        "/imagemap/countdown?102,174": True,
        "/v1.2/": False,
        "/x.gif": False,
        "/x.pl": False,
    }

    assert verdicts(spark, FLOWS.lenient_rule, expected) == expected


def test_the_strict_rule_looks_at_the_extension(spark: SparkSession) -> None:
    expected = {
        "/": True,
        "/launch/": True,
        "/x.html": True,
        "/x.htm": True,
        "/x.shtml": False,
        "/x.class": False,
        "/imagemap/countdown?102,174": False,
        "/v1.2/": True,
        "/v1.2/x.html": True,
        "/x.gif": False,
    }

    assert verdicts(spark, FLOWS.strict_rule, expected) == expected


def test_only_whole_get_requests_count(spark: SparkSession) -> None:
    requests = [
        "GET /a.html HTTP/1.0",
        "GET /b c/ HTTP/1.1",
        "POST /a.html HTTP/1.0",
        "HEAD /a.html HTTP/1.0",
        "GET /a.html",
        "GET /a.html HTTP/1.0 again",
        "get /a.html HTTP/1.0",
        "GET /a.gif HTTP/1.0",
    ]
    logs = spark.createDataFrame([(request,) for request in requests], "request string")

    pages = FLOWS.content_pages(logs).collect()

    assert [row["request"] for row in pages] == ["/a.html", "/b c/"]


@pytest.mark.parametrize("file", ARCHIVE, ids=lambda file: file.stem)
def test_the_archive_is_what_the_script_makes(file: Path) -> None:
    logs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    assert [*SAMPLE.lines(date.fromisoformat(file.stem), len(logs))] == logs


@pytest.mark.long
def test_files_and_topic_stream_and_batch_give_the_same_counts(runs: ExampleRuns) -> None:
    """The topic is read in two runs, the second of which begins within the first day."""
    lines = [line for file in ARCHIVE for line in file.read_text(encoding="utf-8").splitlines()]
    logs = [json.loads(line) for line in lines]
    pages = [{**log, "request": url} for log in logs if (url := page_of(log["request"]))]
    expected = {
        "archived_requests": per_day(logs),
        "archived_pages": per_day(pages),
        "daily_pages": per_day(pages),
        "urlranks": per_window(pages),
    }
    for part in (lines[:50], lines[50:]):
        runs.send("weblogs", [Sent(value=line) for line in part])
        runs.run_once()
    streamed = {topic: runs.records(topic) for topic in expected}
    runs.run_as_batch()

    assert len(logs) > len(pages) > 50
    for topic, records in streamed.items():
        assert hits_of(last_values(records)) == expected[topic], topic
        batch = runs.records(topic, besides=records)
        assert hits_of(last_values(batch)) == expected[topic], topic
        assert len(batch) == len(expected[topic])
    for day in ("1995-07-12", "1995-07-13"):
        daily = {key: hits for key, hits in expected["daily_pages"].items() if day in key}
        assert max(daily, key=daily.__getitem__) == (day, "/launch/liftoff.html")


def page_of(request: str) -> str | None:
    """Return the address of a page; written anew, character by character."""
    match = re.fullmatch(r"GET (.+) HTTP/\d.\d", request)
    if match is None:
        return None
    last_five = match[1][-5:]
    extension = last_five[last_five.index(".") :] if "." in last_five else ""
    return match[1] if extension in (".html", ".htm", "") else None


def per_day(logs: Iterable[dict[str, Any]]) -> Hits:
    return Counter((f"{time_of(log):%Y-%m-%d}", log["request"]) for log in logs)


def per_window(logs: Iterable[dict[str, Any]]) -> Hits:
    return Counter(
        (f"{time_of(log).replace(second=0) - back * MINUTE:%Y-%m-%dT%H:%M}", log["request"])
        for log in logs
        for back in range(5)
    )


def time_of(log: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(log["timestamp"]).astimezone(UTC)


def hits_of(values: dict[bytes | None, bytes]) -> Hits:
    rows = [json.loads(value) for value in values.values()]
    return Counter(
        {(row.get("day") or row["window_start"][:16], row["request"]): row["hits"] for row in rows}
    )
