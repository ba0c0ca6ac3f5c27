"""How records are written: raw, in columns, as JSON, and safely on a terminal."""

import json
from datetime import UTC, datetime

import pytest

from penstock.cli.record_output import Column, as_json_line, as_line, for_terminal
from penstock.kafka import Header, Record
from penstock.names import Offset, Partition, TopicName


def record_of(key: bytes | None, value: bytes | None, *headers: Header) -> Record:
    return Record(
        topic=TopicName("orders"),
        partition=Partition(2),
        offset=Offset(120),
        key=key,
        value=value,
        headers=headers,
        timestamp=datetime(2026, 5, 1, 12, tzinfo=UTC),
    )


def test_without_columns_a_line_is_the_value_as_it_is() -> None:
    lines = [as_line((), record_of(None, value)) for value in (b"\xff\x00a", b"", None)]
    assert lines == [b"\xff\x00a", b"", b"null"]


def test_columns_stand_before_the_value_in_the_order_asked_for() -> None:
    record = record_of(b"ann", b"v", Header("a", b"1"), Header("a", None))
    assert as_line([Column.OFFSET, Column.KEY], record) == b"120\tann\tv"
    assert as_line(list(Column), record) == (
        b"orders\t2\t120\t2026-05-01T12:00:00.000+00:00\tann\ta=1,a=null\tv"
    )
    assert as_line([Column.KEY, Column.HEADERS], record_of(None, None)) == b"null\t\tnull"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (b'{"n": 1}', {"value": '{"n": 1}'}),
        ("grün\u2028\n".encode(), {"value": "grün\u2028\n"}),
        (b"", {"value": ""}),
        (None, {"value": None}),
        (b"\xff\x00", {"value_base64": "/wA="}),
    ],
    ids=["text", "unicode", "empty", "null", "bytes"],
)
def test_json_tells_all_kinds_of_values_apart(value: bytes | None, written: object) -> None:
    line = as_json_line(record_of(b"\xfe", value, Header("h", b"\xfd"), Header("h", None)))
    assert b"\n" not in line
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 2,
        "offset": 120,
        "timestamp": "2026-05-01T12:00:00.000+00:00",
        "key_base64": "/g==",
        **(written if isinstance(written, dict) else {}),
        "headers": [{"name": "h", "value_base64": "/Q=="}, {"name": "h", "value": None}],
    }


def test_a_terminal_is_not_obeying_records() -> None:
    line = "grün\tx\x1b[31m\x07\x9b".encode() + b"\xff"
    assert for_terminal(line) == "grün\tx\\x1b[31m\\x07\\x9b\\xff".encode()
