"""Click-stream enrichment: who looked at a page, and what they had searched for just before.

Page views meet the latest profile of their user, and the search that led to them: a view within one
second after a search of the same user. Views of unknown users and views without a search are kept.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import penstock as ps

ps.topic(
    "page_views",
    kafka_name="clicks.page-views",
    value=ps.json("user_id int, page string, at timestamp"),
    key="user_id",
    partitions=4,
    event_time="at",
    allowed_lateness="5 seconds",
    description="pages that users clicked on",
)
ps.topic(
    "searches",
    kafka_name="clicks.searches",
    value=ps.json("user_id int, search_terms string, at timestamp"),
    key="user_id",
    partitions=4,
    event_time="at",
    allowed_lateness="5 seconds",
    description="what users searched for",
)
ps.topic(
    "profile_changes",
    kafka_name="clicks.profiles",
    value=ps.json("user_id int, user_name string, zipcode string, interests array<string>"),
    key="user_id",
    partitions=4,
    compacted=True,
    description="profiles; the last one of a user counts",
)
ps.topic(
    "activity",
    kafka_name="clicks.activity",
    value=ps.json(
        "user_id int, user_name string, zipcode string, interests array<string>,"
        " search_terms string, page string, at timestamp"
    ),
    key="user_id",
    partitions=4,
    description="page views with all that is known about them",
)
ps.lookup("profiles", "profile_changes", reload_every="5 seconds")


@ps.flow(into="activity")
def describe_views(page_views: DataFrame, profiles: DataFrame, searches: DataFrame) -> DataFrame:
    """Page views with the user's profile and the search that led to them."""
    views = page_views.join(profiles, "user_id", "left").alias("view")
    led_to = F.expr(
        "view.user_id = search.user_id"
        " AND view.at BETWEEN search.at AND search.at + INTERVAL 1 SECOND"
    )
    return views.join(searches.alias("search"), led_to, "left").select(
        "view.user_id",
        "user_name",
        "zipcode",
        "interests",
        F.coalesce("search_terms", F.lit("")).alias("search_terms"),
        "page",
        "view.at",
    )
