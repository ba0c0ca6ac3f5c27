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


@settings(max_examples=50)
@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_each_number_is_read_back(number: float) -> None:
    assert json.loads(java_json([number, {"a": number}])) == [number, {"a": number}]


@settings(max_examples=50)
@given(text=st.text())
def test_each_string_is_read_back(text: str) -> None:
    assert json.loads(java_json({text: [text, None, True]})) == {text: [text, None, True]}
