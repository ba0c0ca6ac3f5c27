"""Regular expressions: found where ECMA 262 finds them, in a time that does not explode."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schemas.json_schema.patterns import PatternError, read_pattern

FOUND: list[tuple[str, str, bool]] = [
    ("a+b", "caab", True),
    ("^a+b$", "caab", False),
    ("^(foo|bar){2}$", "foobar", True),
    ("^[a-c_\\d-]*$", "a-1_", True),
    ("^[^a-c]+$", "xb", False),
    ("^\\w+@\\w+\\.[a-z]{2,3}$", "joe@example.org", True),
    ("^\\w+$", "é", False),
    ("^\\d+$", "٣", False),
    ("^\\p{L}+$", "é", True),
    ("^\\P{Lu}$", "A", False),
    ("^\\s$", "\u00a0", True),
    ("^.$", "\n", False),
    ("a$", "a\n", False),
    ("\\bcat\\b", "a cat!", True),
    ("\\Bat", "cat", True),
    ("^(?=.*\\d)(?!.*x).+$", "ab1", True),
    ("^(?=.*\\d)(?!.*x).+$", "ax1", False),
    ("^(?<year>\\d{4})$", "2026", True),
    ("^\\u0041\\x42\\u{43}$", "ABC", True),
    ("^a{0,2}?$", "aaa", False),
    ("^a{2,}$", "aaa", True),
    ("^a{$", "a{", True),
    ("^[\\]\\b]$", "]", True),
    ("\\/", "a/b", True),
    ("", "anything", True),
    ("^(a*)*$", "aaab", False),
]

NOT_EVALUATED = [
    "(a)\\1",
    "(?<=a)b",
    "(?<n>a)\\k<n>",
    "a++",
    "(?i)a",
    "\\p{Script=Greek}",
    "[[:alpha:]]",
]

WRONG = ["(", ")", "a**", "+a", "[a", "[z-a]", "a{2,1}", "a\\", "(?a", "^*"]


@pytest.mark.parametrize(("pattern", "text", "found"), FOUND)
def test_a_pattern_is_found(pattern: str, text: str, found: bool) -> None:  # noqa: FBT001
    assert read_pattern(pattern).found_in(text) is found


@pytest.mark.parametrize("pattern", NOT_EVALUATED)
def test_what_is_not_evaluated_is_neither_found_nor_missing(pattern: str) -> None:
    assert read_pattern(pattern).found_in("aa") is None


@pytest.mark.parametrize("pattern", WRONG)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        read_pattern(pattern)


def test_a_match_that_takes_too_long_is_given_up() -> None:
    assert read_pattern("^((a|b)*c)*d$").found_in("ab" * 200_000) is None


def test_patterns_that_begin_differently_exclude_each_other() -> None:
    assert read_pattern("^S_").excludes(read_pattern("^I_\\d+$"))
    assert not read_pattern("^S_").excludes(read_pattern("^S_a"))
    assert not read_pattern("^S_|x").excludes(read_pattern("^I_"))
    assert not read_pattern("^S*a").excludes(read_pattern("^a"))


SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "^", "$", "\\b", "a?"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda both: f"(?:{both[0]}|{both[1]})"),
        inner.map(lambda one: f"({one})*"),
        inner.map(lambda one: f"(?:{one}){{1,2}}"),
        inner.map(lambda one: f"(?!{one})"),
    ),
    max_leaves=6,
)


@settings(max_examples=60)
@given(pattern=SIMPLE, text=st.text("abc", max_size=6))
def test_what_python_knows_too_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    assert read_pattern(pattern).found_in(text) == bool(re.search(pattern, text))
