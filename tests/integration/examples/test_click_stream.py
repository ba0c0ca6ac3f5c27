"""The example `click_stream`: profiles, and the search within one second before the click."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from support.example_runs import ExampleRuns, load_example, load_script, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(300)  # queries start slowly on a busy machine

START = datetime(2030, 1, 31, 12, tzinfo=UTC)
EVENTS = load_script("click_stream/events.py")
VIEW = "user_id int, page string, at timestamp"
SEARCH = "user_id int, search_terms string, at timestamp"
PROFILE = "user_id int, user_name string, zipcode string, interests array<string>"


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("click_stream", spark, kafka, tmp_path) as runs:
        yield runs


def described(
    spark: SparkSession,
    *,
    views: list[tuple[int, str, float]],
    searches: list[tuple[int, str, float]],
) -> list[Row]:
    """Return what the flow makes of views and searches, given with seconds from the start."""

    def timed(rows: list[tuple[int, str, float]]) -> list[tuple[int, str, datetime]]:
        return [(user, text, START + timedelta(seconds=seconds)) for user, text, seconds in rows]

    return rows_of(
        load_example("click_stream"),
        "describe_views",
        page_views=spark.createDataFrame(timed(views), VIEW),
        searches=spark.createDataFrame(timed(searches), SEARCH),
        profiles=spark.createDataFrame([(1, "Ada", "94043", ["bikes"])], PROFILE),
    )


def test_a_click_belongs_to_a_search_of_its_user_up_to_one_second_before(
    spark: SparkSession,
) -> None:
    moments = {"before": 9.999, "with": 10.0, "within": 10.5, "at the end": 11.0, "later": 11.001}
    views = [(1, page, seconds) for page, seconds in moments.items()]

    found = described(
        spark, views=[*views, (2, "other user", 10.5)], searches=[(1, "road bike", 10.0)]
    )

    assert {row["page"]: row["search_terms"] for row in found} == {
        "before": "",
        "with": "road bike",
        "within": "road bike",
        "at the end": "road bike",
        "later": "",
        "other user": "",
    }


def test_clicks_of_unknown_users_are_kept(spark: SparkSession) -> None:
    found = described(
        spark, views=[(1, "/bikes", 1.0), (9, "/bikes", 1.0)], searches=[(9, "road bike", 0.5)]
    )

    assert sorted((row["user_id"], row["user_name"], row["search_terms"]) for row in found) == [
        (1, "Ada", ""),
        (9, None, "road bike"),
    ]


@pytest.mark.long
def test_every_click_of_the_sample_comes_out_once_with_what_is_known_of_it(
    runs: ExampleRuns,
) -> None:
    """Clicks without a search come when no search can lead to them any more."""
    for topic, name in (
        ("profile_changes", "profiles"),
        ("searches", "searches"),
        ("page_views", "page-views"),
    ):
        runs.send_json(topic, EVENTS.records(name, START), key="user_id")

    runs.run_once()

    ada, grace, nobody = ("Ada", "94043"), ("Grace", "22201"), (None, None)
    found = sorted(runs.rows("activity"), key=lambda row: row["at"])
    assert [
        (row["page"], (row["user_name"], row["zipcode"]), row["search_terms"]) for row in found
    ] == [
        ("/bikes/domane", ada, "road bike"),
        ("/bikes/madone", ada, "road bike"),
        ("/cart", ada, ""),
        ("/home", grace, ""),
        ("/tents", grace, "tent"),
        ("/helmets", nobody, "helmet"),
        ("/home", ada, ""),
        ("/cart", nobody, ""),
        ("/trains", grace, "train to Rome"),
    ]
    assert found[0]["interests"] == ["bikes", "Trek"]
    assert found[0]["at"] == "2030-01-31T12:00:00.400000Z"
