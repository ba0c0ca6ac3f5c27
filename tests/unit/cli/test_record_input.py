from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.record_input import (
    InputFormat,
    InvalidInputError,
    Line,
    Template,
    lines_of,
    record_of,
)
from penstock.errors import Origin
from penstock.kafka import Header, OutgoingRecord, Record, as_json, outgoing_as_json
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = TopicName("orders")
MOMENT = datetime(2026, 5, 1, 12, 0, 0, 250000, tzinfo=UTC)
LINES = Template(
    topic=TOPIC,
    input_format=InputFormat.LINES,
    key_separator=None,
    key_pointer=None,
    null_value=None,
    headers=(),
    partition=None,
    timestamp=None,
)
JSON = replace(LINES, input_format=InputFormat.JSON)
RECORDS = replace(LINES, input_format=InputFormat.RECORDS)

contents = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


def sent(key: bytes | None, value: bytes | None) -> OutgoingRecord:
    return OutgoingRecord(topic=TOPIC, key=key, value=value)


def test_a_line_is_a_value_byte_for_byte() -> None:
    assert record_of(b" \xff\t|\x00", LINES) == sent(None, b" \xff\t|\x00")
    assert record_of(b"", LINES) == sent(None, b"")


def test_the_first_separator_ends_the_key() -> None:
    template = replace(LINES, key_separator=b"::")

    assert record_of(b"a::b::c", template) == sent(b"a", b"b::c")
    assert record_of(b"::", template) == sent(b"", b"")


def test_a_chosen_text_is_a_tombstone() -> None:
    template = replace(LINES, key_separator=b"|", null_value=b"")

    assert record_of(b"a|", template) == sent(b"a", None)
    assert record_of(b"a| ", template) == sent(b"a", b" ")


def test_headers_partition_and_timestamp_go_to_every_record() -> None:
    template = replace(
        LINES, headers=(Header("a", b"1"), Header("a", b"2")), partition=3, timestamp=MOMENT
    )

    assert record_of(b"x", template) == OutgoingRecord(
        topic=TOPIC,
        key=None,
        value=b"x",
        headers=(Header("a", b"1"), Header("a", b"2")),
        partition=Partition(3),
        timestamp=MOMENT,
    )


@pytest.mark.parametrize(
    ("pointer", "key"),
    [
        (("user", "id"), b"7"),
        (("user", "name"), b"Ann"),
        (("tags", "1"), b"new"),
        (("a/b",), b"true"),
        (("user",), b'{"id":7,"name":"Ann"}'),
    ],
    ids=str,
)
def test_the_key_is_taken_from_the_json_and_the_value_is_the_line(
    pointer: tuple[str, ...], key: bytes
) -> None:
    line = b'{"user": {"id": 7, "name": "Ann"}, "tags": ["old", "new"],  "a/b": true}'

    assert record_of(line, replace(JSON, key_pointer=pointer)) == sent(key, line)


def test_blank_lines_between_json_lines_are_left_out() -> None:
    assert [record_of(b"  ", JSON), record_of(b"", RECORDS)] == [None, None]


@given(
    key=contents,
    value=contents,
    headers=st.lists(st.builds(Header, st.text(max_size=5), contents), max_size=3),
)
def test_what_consume_writes_is_sent_again_byte_for_byte(
    key: bytes | None, value: bytes | None, headers: list[Header]
) -> None:
    record = Record(
        topic=TopicName("other"),
        partition=Partition(5),
        offset=Offset(99),
        key=key,
        value=value,
        headers=tuple(headers),
        timestamp=MOMENT,
    )

    line = json.dumps(as_json(record)).encode()

    assert record_of(line, RECORDS) == OutgoingRecord(
        topic=TOPIC, key=key, value=value, headers=tuple(headers), timestamp=MOMENT
    )


def test_a_record_of_the_errors_file_is_sent_again() -> None:
    record = OutgoingRecord(topic=TOPIC, key=b"\xff", value=b"x", headers=(Header("a", None),))
    line = json.dumps(outgoing_as_json(record) | {"error": {"code": "PEN-453"}}).encode()

    assert record_of(line, RECORDS) == record


@pytest.mark.parametrize("timestamp", [1777636800250, "2026-05-01T12:00:00.250"], ids=str)
def test_a_record_may_have_its_timestamp_in_other_forms(timestamp: object) -> None:
    record = record_of(json.dumps({"value": "x", "timestamp": timestamp}).encode(), RECORDS)

    assert record is not None
    assert record.timestamp == MOMENT


@pytest.mark.parametrize(
    ("line", "template", "reason"),
    [
        (b"ab", replace(LINES, key_separator=b"|"), "has no `|` between key and value"),
        (b"{", JSON, "is not JSON: Expecting property name"),
        (b"\xff", JSON, "is not JSON: 'utf-8' codec can't decode"),
        (b"[" * 100_000, JSON, "is not JSON: maximum recursion depth"),
        (b'{"id": null}', replace(JSON, key_pointer=("id",)), "has nothing at `/id`"),
        (b'{"id": 1}', replace(JSON, key_pointer=("user", "id")), "has nothing at `/user/id`"),
        (b'{"id": "\\ud800"}', replace(JSON, key_pointer=("id",)), "cannot be sent: the record"),
        (b"7", RECORDS, "is not a record: an object with `value` or `value_base64`"),
        (b'{"key": "a"}', RECORDS, "is not a record: an object with `value` or `value_base64`"),
        (b'{"value": 7}', RECORDS, "is not a record: `value` is not a text"),
        (b'{"value_base64": "*"}', RECORDS, "is not a record: `value_base64` is not base64"),
        (b'{"value_base64": 7}', RECORDS, "is not a record: `value_base64` is not base64"),
        (
            b'{"value": "a", "value_base64": "YQ=="}',
            RECORDS,
            "is not a record: it has both `value` and `value_base64`",
        ),
        (b'{"value": "a", "headers": 1}', RECORDS, "is not a record: `headers` is not a list"),
        (
            b'{"value": "a", "headers": [{"value": "x"}]}',
            RECORDS,
            "is not a record: a header is not an object with a `name`",
        ),
        (
            b'{"value": "a", "headers": [{"name": "x", "value": "\\ud800"}]}',
            RECORDS,
            "cannot be sent: the record cannot be sent: its header `x` is text",
        ),
        (b'{"value": "a", "timestamp": "now"}', RECORDS, "is not a record: its timestamp is `now`"),
        (
            b'{"value": "a", "timestamp": 1e99}',
            RECORDS,
            "is not a record: its timestamp is `1e+99`",
        ),
        (
            b'{"value": "a", "timestamp": 99999999999999999}',
            RECORDS,
            "is not a record: its timestamp is `99999999999999999`",
        ),
        (b'{"value": "a", "timestamp": -5}', RECORDS, "cannot be sent: the record cannot"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_line_that_cannot_be_understood_says_why(
    line: bytes, template: Template, reason: str
) -> None:
    with pytest.raises(InvalidInputError) as wrong:
        record_of(line, template)

    assert wrong.value.message.startswith(f"the line {reason}")


def test_lines_end_like_on_unix_or_windows_and_the_last_may_not_end(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"a\r\nb\n\nc")
    two.write_bytes(b"d\n")

    assert list(lines_of([one, two])) == [
        Line(b"a", Origin(one, 1)),
        Line(b"b", Origin(one, 2)),
        Line(b"", Origin(one, 3)),
        Line(b"c", Origin(one, 4)),
        Line(b"d", Origin(two, 1)),
    ]
