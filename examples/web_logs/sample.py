"""Print a made-up day of web logs, one JSON object per line, in the order of time.

    python sample.py 1995-07-14 --lines 100 > archive/1995-07-14.json

The same day gives the same lines. Visits cluster around 13:22, when something is launched.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from random import Random

ZONE = timezone(timedelta(hours=-4))
REQUESTS = {
    "GET /launch/liftoff.html HTTP/1.0": 16,
    "GET /launch/ HTTP/1.0": 12,
    "GET / HTTP/1.0": 6,
    "GET /crew/index.htm HTTP/1.0": 5,
    "GET /news.shtml HTTP/1.0": 3,
    "GET /imagemap/countdown?102,174 HTTP/1.0": 3,
    "GET /docs/v1.2/ HTTP/1.0": 2,
    "GET /images/logo-small.gif HTTP/1.0": 24,
    "GET /cgi-bin/clock.pl HTTP/1.0": 8,
    "HEAD /launch/ HTTP/1.0": 2,
    "POST /guests.html HTTP/1.0": 2,
    "GET /launch/": 1,
}
"""What visitors ask for, and how often in relation to each other."""

REPLIES = (200, 200, 200, 200, 304, 404)
LAUNCH = time(13, 22, tzinfo=ZONE)


def lines(day: date, count: int) -> Iterator[dict[str, object]]:
    """Return so many lines of `day`."""
    dice = Random(day.toordinal())  # noqa: S311 - visits, not secrets
    launch = datetime.combine(day, LAUNCH)
    # Nearly all within two hours around the launch, so that no day runs into the next one.
    offsets = sorted(dice.gauss(0, 30) for _ in range(count))
    for minutes in offsets:
        reply = dice.choice(REPLIES)
        (request,) = dice.choices([*REQUESTS], [*REQUESTS.values()])
        yield {
            "host": _host(dice),
            "timestamp": (launch + timedelta(minutes=minutes)).isoformat(timespec="seconds"),
            "request": request,
            "http_reply": reply,
            "bytes": dice.randrange(200, 60_000) if reply == 200 else 0,
        }


def _host(dice: Random) -> str:
    if dice.random() < 0.3:
        return f"192.0.2.{dice.randrange(1, 255)}"
    return f"visitor-{dice.randrange(1, 40)}.example.net"


def main() -> None:
    """Print the lines of the day that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("day", type=date.fromisoformat, help="such as 1995-07-13")
    parser.add_argument("--lines", type=int, default=100, help="how many")
    asked = parser.parse_args()
    for line in lines(asked.day, asked.lines):
        print(json.dumps(line))


if __name__ == "__main__":
    main()
