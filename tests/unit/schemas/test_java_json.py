"""JSON is written as Java's Jackson writes it; what is expected was seen there."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schemas.java_json import java_json

NUMBERS: dict[float, str] = {
    0.0: "0.0",
    100.0: "100.0",
    -0.1: "-0.1",
    0.001: "0.001",
    0.0001: "1.0E-4",
    -0.00012: "-1.2E-4",
    9999999.0: "9999999.0",
    1e7: "1.0E7",
    123456789.125: "1.23456789125E8",
    1e16: "1.0E16",
    1.5e300: "1.5E300",
}


@pytest.mark.parametrize(("value", "text"), NUMBERS.items())
def test_numbers_have_the_notation_of_java(value: float, text: str) -> None:
    assert java_json(value) == text


def test_strings_are_escaped_no_more_than_needed() -> None:
    assert java_json('\x1f\x7f\b\n\\u001f/"é😀') == '"\\u001F\x7f\\b\\n\\\\u001f/\\"é😀"'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@settings(max_examples=50)
@given(value=JSON)
def test_what_is_written_is_read_back(value: object) -> None:
    assert json.loads(java_json(value)) == value
