import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Event

from penstock.demo import BLOCKED_OCTETS, HostWindow, Traffic, generate
from penstock.kafka import Connection
from penstock.names import TopicName
from support.topic_contents import topic_contents

GOOD_LINE = re.compile(
    rb'(?P<host>\S+) - - \[(?P<time>\S+ \+0000)\] "\S+ \S+ HTTP/1\.\d" \d{3} \d+'
)
ADDRESS = re.compile(r"(\d{1,3})(\.\d{1,3}){3}")


def stepping_clock() -> Callable[[], datetime]:
    """Return a clock that goes on by 50 ms at every look: 1,000 lines cover 50 s."""
    start, steps = datetime(2026, 3, 8, 7, 54, 30, tzinfo=UTC), count()
    return lambda: start + timedelta(milliseconds=50 * next(steps))


def test_the_tally_equals_what_the_lines_on_the_topic_say(
    connection: Connection, topic: TopicName
) -> None:
    """The lines are parsed here with a regular expression; the generator counts its dice."""
    traffic = Traffic(
        topic=topic, rate=5_000, duration_seconds=0.4, broken_share=0.1, window_seconds=10
    )

    tally = generate(connection, traffic, clock=stepping_clock())

    records = topic_contents(connection.bootstrap, topic)
    hits: Counter[HostWindow] = Counter()
    lines: Counter[datetime] = Counter()
    for record in records:
        match = GOOD_LINE.fullmatch(record.value or b"")
        if match is None or not is_utf8(record.value):
            continue
        moment = datetime.strptime(match["time"].decode(), "%d/%b/%Y:%H:%M:%S %z")
        start = moment.replace(second=moment.second // 10 * 10)
        lines[start] += 1
        address = ADDRESS.fullmatch(match["host"].decode())
        if address and int(address[1]) in BLOCKED_OCTETS:
            hits[HostWindow(address[0], start)] += 1
    assert tally.sent == len(records) == 2_000
    assert tally.failed == 0
    assert tally.hits_by_window == dict(hits)
    assert tally.lines_by_window == dict(lines)
    assert tally.hit_count == hits.total() > 50
    assert tally.good_count == lines.total()
    assert tally.broken_count == 2_000 - lines.total() > 100


def test_a_record_has_its_host_as_key_and_the_moment_of_its_line_as_timestamp(
    connection: Connection, topic: TopicName
) -> None:
    generate(connection, Traffic(topic=topic, rate=100, duration_seconds=0.5))

    for record in topic_contents(connection.bootstrap, topic):
        match = GOOD_LINE.fullmatch(record.value or b"")
        assert match is not None
        assert record.key == match["host"]
        stamped = datetime.fromtimestamp(record.timestamp_ms / 1000, UTC)
        assert f"{stamped:%H:%M:%S}".encode() in match["time"]


def test_lines_come_at_the_rate_that_was_asked_for(
    connection: Connection, topic: TopicName
) -> None:
    """A busy machine is late and catches up; no line comes before its time."""
    began = datetime.now(UTC).timestamp() * 1000
    tally = generate(connection, Traffic(topic=topic, rate=500, duration_seconds=2))

    moments = sorted(record.timestamp_ms for record in topic_contents(connection.bootstrap, topic))
    assert tally.sent == 1_000
    assert tally.seconds > 1.9
    early = [n for n, moment in enumerate(moments) if moment - began < 2 * n - 25]
    assert early == []


def test_a_set_stop_ends_the_traffic_and_what_was_sent_is_counted(
    connection: Connection, topic: TopicName
) -> None:
    stop = Event()
    looks = count(1)

    def clock() -> datetime:
        if next(looks) == 300:
            stop.set()
        return datetime.now(UTC)

    tally = generate(
        connection, Traffic(topic=topic, rate=1_000, duration_seconds=600), clock=clock, stop=stop
    )

    assert 300 <= tally.sent < 1_000
    assert tally.sent == len(topic_contents(connection.bootstrap, topic))


def test_lines_that_nobody_acknowledged_are_not_counted(connection: Connection) -> None:
    tally = generate(
        connection, Traffic(topic=TopicName("nobody-made-it"), rate=100, duration_seconds=0.1)
    )

    assert (tally.sent, tally.failed, tally.hit_count) == (0, 10, 0)


def is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
