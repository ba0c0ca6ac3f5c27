"""Verdicts: what is said of a group from how it moved over five minutes."""

from penstock.monitoring.groups.verdicts import Verdict, Window

LOOKS = range(0, 361, 30)
BEGIN = 10_000.0


def verdict(
    positions: dict[int, tuple[int, int]], *, committed_at: float, since: float | None = None
) -> Verdict:
    """Return what is said after looks at (offset, end), by seconds since the beginning."""
    window = Window()
    at = BEGIN
    for seconds, (offset, end) in positions.items():
        at = BEGIN + seconds
        window.note(offset=offset, lag=end - offset, at=at)
    return window.verdict(committed_at=committed_at, since=since, at=at)


def test_a_group_that_reaches_the_end_is_ok_however_little_it_commits() -> None:
    looks = dict.fromkeys(LOOKS, (10, 10))
    assert verdict(looks, committed_at=0) is Verdict.OK


def test_a_group_that_gets_on_and_keeps_its_distance_is_ok() -> None:
    looks = {seconds: (seconds * 10, seconds * 10 + 500) for seconds in LOOKS}
    assert verdict(looks, committed_at=BEGIN + 360) is Verdict.OK


def test_a_group_that_falls_further_behind_at_every_look_is_warned_of() -> None:
    looks = {seconds: (seconds * 10, seconds * 20 + 1) for seconds in LOOKS}
    assert verdict(looks, committed_at=BEGIN + 360) is Verdict.WARN


def test_a_group_that_commits_the_same_position_again_and_again_stalls() -> None:
    looks = dict.fromkeys(LOOKS, (10, 500))
    assert verdict(looks, committed_at=BEGIN + 355) is Verdict.STALL


def test_a_group_that_commits_nothing_has_stopped() -> None:
    looks = {seconds: (10, 500 + seconds) for seconds in LOOKS}
    assert verdict(looks, committed_at=BEGIN - 5) is Verdict.STOP


def test_nothing_is_said_before_enough_was_seen() -> None:
    looks = dict.fromkeys(range(0, 121, 30), (10, 500))
    assert verdict(looks, committed_at=BEGIN) is Verdict.OK


def test_records_that_waited_long_before_the_first_look_are_enough() -> None:
    assert verdict({0: (10, 500)}, committed_at=BEGIN - 900, since=BEGIN - 800) is Verdict.STOP


def test_a_group_that_had_nothing_to_do_has_not_stopped_when_an_old_record_arrives() -> None:
    looks = {0: (10, 10), 30: (10, 11)}
    assert verdict(looks, committed_at=0, since=0) is Verdict.OK


def test_the_worst_verdict_has_the_highest_rank() -> None:
    ranked = sorted(Verdict, key=lambda item: item.rank)
    assert ranked == [Verdict.OK, Verdict.WARN, Verdict.STALL, Verdict.STOP, Verdict.ERR]
