"""Moments and lengths of time as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest

from penstock.cli.options import SPAN, TIME


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-01T12:00:00Z", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        (
            "2026-05-01T12:00:00+02:00",
            datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("1777636800000", datetime(2026, 5, 1, 12, tzinfo=UTC)),
    ],
)
def test_a_moment_is_iso_or_epoch_milliseconds(text: str, expected: datetime) -> None:
    assert TIME.convert(text, None, None) == expected


def test_a_span_as_a_moment_means_that_long_ago() -> None:
    before = datetime.now(UTC) - timedelta(hours=6)
    moments = [TIME.convert(text, None, None) for text in ("6h", "6h ago")]
    after = datetime.now(UTC) - timedelta(hours=6)
    assert [before <= moment <= after for moment in moments] == [True, True]


@pytest.mark.parametrize(
    "text", ["yesterday", "", "6 parsecs", "2026-13-01", "120", "9" * 19, "9" * 15 + "d"]
)
def test_what_is_not_a_moment_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        TIME.convert(text, None, None)
    assert caught.value.message == (
        f"{text!r} is not a time; write 2026-05-01T12:00:00Z, epoch milliseconds or 6h"
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30),
        ("1.5s", 1.5),
        ("10m", 600),
        ("6h", 21600),
        ("7d", 604800),
        ("1w", 604800),
        ("5", 5),
    ],
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert SPAN.convert(text, None, None) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["soon", "-5", "5 years", "", "9" * 15 + "d", "9" * 400])
def test_what_is_not_a_length_of_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        SPAN.convert(text, None, None)
    assert caught.value.message == f"{text!r} is not a length of time; write 30s, 10m, 6h or 7d"
