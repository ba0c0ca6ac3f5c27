import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka.cluster.wire import (
    NO_TAGS,
    Reader,
    Request,
    encoded_array,
    encoded_length,
    encoded_text,
)


@given(count=st.integers(-1, 2**31 - 2))
def test_a_compact_length_is_read_back_as_one_more(count: int) -> None:
    assert Reader(encoded_length(count)).unsigned() == count + 1


@given(text=st.none() | st.text())
def test_a_compact_text_is_read_back(text: str | None) -> None:
    assert Reader(encoded_text(text)).text() == text


@given(texts=st.lists(st.text()))
def test_a_compact_array_is_read_back(texts: list[str]) -> None:
    data = encoded_array([encoded_text(text) for text in texts])

    assert Reader(data).array(Reader.name) == tuple(texts)


def test_numbers_are_read_in_network_order() -> None:
    reader = Reader(bytes.fromhex("ff 0102 00000003 ffffffffffffffff"))

    assert [reader.int8(), reader.int16(), reader.int32(), reader.int64()] == [-1, 258, 3, -1]


def test_tagged_fields_are_found_by_tag_and_can_be_skipped() -> None:
    reader = Reader(b"\x02" + b"\x00\x01\xff" + b"\x02\x02\x00\x07" + b"\x00\x09")

    tags = reader.tags()

    assert (sorted(tags), tags[2].int16(), reader.int16()) == ([0, 2], 7, 9)


def test_an_answer_that_ends_early_is_noticed() -> None:
    with pytest.raises(EOFError):
        Reader(b"\x00\x00").int32()


def test_a_request_is_framed_with_its_length_and_a_flexible_header() -> None:
    request = Request(api_key=35, api_version=4, body=b"\x00" + NO_TAGS)

    assert request.framed() == bytes.fromhex("00000015 0023 0004 00000000 0008") + (
        b"penstock" + b"\x00" + b"\x00\x00"
    )
