"""Patterns of JSON Schema in Java's spelling; what Java makes of them is tested with Spark."""

from __future__ import annotations

import pytest

from penstock.engine.contracts.json_schema.java_patterns import MAX_CHARS, java_pattern


@pytest.mark.parametrize(
    ("pattern", "java"),
    [
        ("^[A-Z]{2}-(a|b)\\d+$", "^[A-Z]{2}\\-(?:a|b)\\d+\\z"),
        ("a.c", r"a[^\n\r\x{2028}\x{2029}]c"),
        (r"^[\w.-]{1,9}\u0041\/", r"^[\w\.\-]{1,9}\x{0041}/"),
        ("a|b", "a|b"),
        ("", ""),
    ],
)
def test_what_both_languages_have_is_spelled_as_java_does(pattern: str, java: str) -> None:
    found = java_pattern(pattern)

    assert found is not None
    assert found.text == java


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s",  # Java: ASCII only
        r"\bword\b",  # Java: letters of all languages
        r"^a$|^b$",
        r"(a+)+",
        r"(a|b)*",
        r"^\d+\d+\d+$",
        r"(?=a)b",
        r"(a)\1",
        r"[a[b]]",
        r"[a&&b]",
        r"[]a]",
        r"[\w-z]",
        r"a{2",
        r"\ud83d\ude00",
        r"(ab){600}",
        r"(a{1,99}){1,99}",
        r"\cA",
        r"a$b",
    ],
)
def test_what_java_reads_otherwise_or_slowly_is_left_to_the_validator(pattern: str) -> None:
    assert java_pattern(pattern) is None


def test_long_texts_are_not_compared_with_patterns_that_take_quadratic_time() -> None:
    limits = [java_pattern(pattern) for pattern in (r"^\d+$", r"\d+", r"^\d+x\d+$", "abc")]

    assert [found and found.max_chars for found in limits] == [None, MAX_CHARS, MAX_CHARS, None]
