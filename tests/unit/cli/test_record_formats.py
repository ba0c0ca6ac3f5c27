"""Lines that are written in a registry format, and records that were decoded from one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.cli.record_formats import DecodedRecord, Encoders, RecordDecoder
from penstock.cli.record_input import InputFormat, InvalidInputError, Template, record_of
from penstock.cli.record_output import as_json_line, as_line
from penstock.kafka import ContainsText, Header, Record, parse_condition
from penstock.kafka.formats import Side, UndecodableRecordError
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPIC = TopicName("orders")


class Shouting:
    """A format for tests: the JSON text in capitals, and back."""

    def encode(self, document: object) -> bytes | None:
        return json.dumps(document).upper().encode()

    def decode(self, data: bytes, headers: Sequence[Header]) -> object:
        assert headers == ()
        text = data.decode()
        if not text.isupper():
            raise UndecodableRecordError(reason="it does not shout")
        return json.loads(text.lower())


def decoded(value: bytes | None) -> DecodedRecord:
    """Return a record with this value, which alone is in the format."""
    record = Record(topic=TOPIC, partition=Partition(0), offset=Offset(7), key=b"k", value=value)
    decoder = RecordDecoder(lambda place: Shouting() if place.side is Side.VALUE else None)
    return decoder.decoded(record)


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
DOCUMENTS = replace(LINES, input_format=InputFormat.JSON, key_pointer=("id",))
RECORDS = replace(LINES, input_format=InputFormat.RECORDS)


def sent(line: str, template: Template, **encoders: Shouting) -> tuple[bytes | None, bytes | None]:
    record = record_of(line.encode(), template, Encoders(**encoders))
    assert record is not None
    return record.key, record.value


def test_a_line_is_json_for_each_side_that_has_a_format() -> None:
    lines = replace(LINES, key_separator=b"|")

    assert sent('a|{"b": 1}', lines, value=Shouting()) == (b"a", b'{"B": 1}')
    assert sent('"a"|{"b": 1}', lines, key=Shouting()) == (b'"A"', b'{"b": 1}')


def test_a_key_from_a_document_is_encoded_as_what_it_is_there() -> None:
    assert sent('{"id": "x"}', DOCUMENTS)[0] == b"x"
    assert sent('{"id": "x"}', DOCUMENTS, key=Shouting())[0] == b'"X"'
    assert sent('{"id": [1]}', DOCUMENTS, key=Shouting())[0] == b"[1]"


def test_a_null_value_is_a_tombstone_before_it_is_json() -> None:
    lines = replace(LINES, null_value=b"-")

    assert sent("-", lines, value=Shouting()) == (None, None)


def test_a_line_that_is_not_json_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="is not JSON"):
        sent("{", LINES, value=Shouting())


@pytest.mark.parametrize("line", ['{"a": NaN}', '"\\ud800"'])
def test_what_python_takes_for_json_and_others_do_not_is_refused(line: str) -> None:
    with pytest.raises(InvalidInputError):
        sent(line, LINES, value=Shouting())


def test_values_of_records_are_documents_and_base64_stands_for_the_bytes() -> None:
    assert sent('{"value": {"a": "b"}}', RECORDS, value=Shouting())[1] == b'{"A": "B"}'
    assert sent('{"value_base64": "eA=="}', RECORDS, value=Shouting())[1] == b"x"
    assert sent('{"value": null}', RECORDS, value=Shouting())[1] is None


def test_a_decoded_record_is_a_line_of_json_and_filters_see_it() -> None:
    record = decoded(b'{"NAME": "ANN", "AGE": 41}')

    assert as_line([], record) == b'{"name": "ann", "age": 41}'
    assert json.loads(as_json_line(record))["value"] == {"name": "ann", "age": 41}
    assert json.loads(as_json_line(record))["key"] == "k"
    assert parse_condition("/age > 40").matches(record)
    assert ContainsText(b"ann").matches(record)
    assert not record.is_undecodable


def test_a_record_that_cannot_be_decoded_is_shown_with_its_bytes_and_the_reason() -> None:
    record = decoded(b"hello")

    assert record.is_undecodable
    assert json.loads(as_line([], record)) == {
        "undecodable": "it does not shout",
        "base64": "aGVsbG8=",
    }
    shown = json.loads(as_json_line(record))
    assert (shown["value_base64"], shown["value_error"]) == ("aGVsbG8=", "it does not shout")
    assert "value" not in shown


def test_a_tombstone_stays_one() -> None:
    record = decoded(None)

    assert json.loads(as_json_line(record))["value"] is None
    assert as_line([], record) == b"null"
