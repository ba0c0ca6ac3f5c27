"""Prints records of one topic as JSON lines: `profiles`, `searches` or `page-views`."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

PROFILES = (
    {"user_id": 1, "user_name": "Ada", "zipcode": "94043", "interests": ["bikes", "Trek"]},
    {"user_id": 2, "user_name": "Grace", "zipcode": "10001", "interests": ["bikes"]},
    # The last profile of a user counts.
    {"user_id": 2, "user_name": "Grace", "zipcode": "22201", "interests": ["bikes", "travel"]},
)
SEARCHES = (
    (0.0, 1, "road bike"),
    (10.0, 2, "tent"),
    (30.0, 3, "helmet"),
    (120.0, 2, "train to Rome"),
)
PAGE_VIEWS = (
    (0.4, 1, "/bikes/domane"),
    (1.0, 1, "/bikes/madone"),
    (1.001, 1, "/cart"),  # more than a second after the search
    (9.5, 2, "/home"),  # before the search
    (10.0, 2, "/tents"),
    (30.2, 3, "/helmets"),  # nobody knows user 3
    (30.3, 1, "/home"),  # the search was another user's
    (40.0, 3, "/cart"),
    (120.5, 2, "/trains"),
)
"""Seconds from the start, user and page. Two minutes later nothing of the beginning is awaited."""


def records(topic: str, start: datetime) -> Iterator[dict[str, object]]:
    """Return the records of a topic, as if the first search came at `start`."""
    match topic:
        case "profiles":
            yield from PROFILES
        case "searches":
            for seconds, user_id, terms in SEARCHES:
                yield {"user_id": user_id, "search_terms": terms, "at": moment(start, seconds)}
        case "page-views":
            for seconds, user_id, page in PAGE_VIEWS:
                yield {"user_id": user_id, "page": page, "at": moment(start, seconds)}
        case _:
            sys.exit(f"`{topic}` is none of profiles, searches, page-views")


def moment(start: datetime, seconds: float) -> str:
    """Return a time as JSON has it."""
    return (start + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("which topic: profiles, searches or page-views?")
    # Searches and views are printed by two runs, which have to agree on the time.
    midnight = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    for record in records(sys.argv[1], midnight):
        print(json.dumps(record))
