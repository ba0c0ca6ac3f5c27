"""Dead letters: the record as it was, and why it failed."""

from datetime import UTC, datetime

from penstock.kafka.records import Header, Record
from penstock.kafka.workers.dead_letters import dead_letter
from penstock.names import GroupId, Offset, Partition, TopicName


def test_a_dead_letter_keeps_the_record_and_adds_where_it_came_from() -> None:
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    record = Record(
        topic=TopicName("orders"),
        partition=Partition(2),
        offset=Offset(120),
        key=b"\xff",
        value=None,
        headers=(Header("trace", b"1"), Header("trace", None)),
        timestamp=moment,
    )
    try:
        raise LookupError("no customer `ann` \udcff")  # noqa: EM101, TRY003, TRY301 - a user's error
    except LookupError as error:
        letter = dead_letter(
            record,
            topic=TopicName("orders.dead"),
            group=GroupId("billing"),
            handler="app.bill",
            error=error,
        )

    assert (letter.topic, letter.key, letter.value, letter.timestamp, letter.partition) == (
        "orders.dead",
        b"\xff",
        None,
        moment,
        None,
    )
    *reasons, trace = letter.headers
    assert reasons == [
        Header("trace", b"1"),
        Header("trace", None),
        Header("__connect.errors.topic", b"orders"),
        Header("__connect.errors.partition", b"2"),
        Header("__connect.errors.offset", b"120"),
        Header("__connect.errors.connector.name", b"billing"),
        Header("__connect.errors.stage", b"HANDLER"),
        Header("__connect.errors.class.name", b"app.bill"),
        Header("__connect.errors.exception.class.name", b"builtins.LookupError"),
        Header("__connect.errors.exception.message", b"no customer `ann` \\udcff"),
    ]
    assert trace.name == "__connect.errors.exception.stacktrace"
    assert trace.value is not None
    assert trace.value.startswith(b"Traceback (most recent call last)")
