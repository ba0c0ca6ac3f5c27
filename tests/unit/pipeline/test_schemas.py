"""Schemas and spans of time as declarations write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.pipeline import column_names, column_types, parse_span

PLAIN_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
QUOTED_NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1)
TYPES = st.recursive(
    st.sampled_from(["string", "bigint", "decimal(10,2)", "timestamp"]),
    lambda inner: st.one_of(
        inner.map("array<{}>".format),
        st.tuples(inner, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
        st.lists(st.tuples(PLAIN_NAMES, inner), min_size=1, max_size=3).map(
            lambda fields: f"struct<{', '.join(f'{name}: {kind}' for name, kind in fields)}>"
        ),
    ),
    max_leaves=5,
)
COMMENTS = st.sampled_from(["", " NOT NULL", " COMMENT 'a, b (c'", r" COMMENT 'it\'s, <so>'"])
COLUMNS = st.lists(
    st.tuples(st.one_of(PLAIN_NAMES, QUOTED_NAMES), TYPES, COMMENTS),
    min_size=1,
    max_size=5,
    unique_by=lambda column: column[0].lower(),
)


@given(COLUMNS, st.sampled_from([",", ", ", " ,\n"]))
def test_columns_are_found_whatever_their_types_and_names(
    columns: list[tuple[str, str, str]], separator: str
) -> None:
    written = [f"`{name.replace('`', '``')}` {kind}{comment}" for name, kind, comment in columns]
    assert column_types(separator.join(written)) == {
        name: f"{kind}{comment}" for name, kind, comment in columns
    }


def test_a_colon_may_stand_before_the_type() -> None:
    assert column_types("a: int, b:string, c  date") == {"a": "int", "b": "string", "c": "date"}
    assert column_names("a: int, b:string") == ("a", "b")


@pytest.mark.parametrize(
    ("ddl", "reason"),
    [
        ("", "`` is not a column with a type, such as `host string`"),
        ("a int,", "`` is not a column with a type, such as `host string`"),
        ("a int, b", "`b` is not a column with a type, such as `host string`"),
        ("struct<a: int>", "`struct<a: int>` is not a column with a type, such as `host string`"),
        ("a int, `A` int", "the column `A` is there twice"),
        ("a array<int", "the brackets in `a array<int` do not match"),
        ("a int>, b int", "the brackets in `a int>, b int` do not match"),
    ],
)
def test_what_is_no_list_of_columns_is_refused_with_the_part(ddl: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the reason is compared below
        column_types(ddl)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 seconds", timedelta(seconds=10)),
        ("1 Second", timedelta(seconds=1)),
        ("5 min", timedelta(minutes=5)),
        ("1 hour 30 minutes", timedelta(minutes=90)),
        ("1h30m", timedelta(minutes=90)),
        ("7d", timedelta(days=7)),
        ("2 weeks", timedelta(days=14)),
        ("250ms", timedelta(milliseconds=250)),
        ("0 seconds", timedelta(0)),
    ],
)
def test_a_span_is_a_number_and_a_unit_or_several(text: str, expected: timedelta) -> None:
    assert parse_span(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "10",
        "ten seconds",
        "10 parsecs",
        "-5 s",
        "5 s -",
        "1 ss",
        "200 years",
        "9" * 400 + "d",
    ],
)
def test_what_is_no_span_is_none(text: str) -> None:
    assert parse_span(text) is None
