import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from penstock.demo import BLOCKED_OCTETS, Breakage, LineMaker

MOMENT = datetime(2026, 3, 8, 7, 54, 30, 250_000, tzinfo=UTC)
COMMON_LOG_FORMAT = re.compile(
    r'(?P<host>\S+) - - \[(?P<time>[^\]]+)\] "\S+ \S+ HTTP/1\.\d" \d{3} \d+'
)
ADDRESS = re.compile(r"(\d{1,3})\.\d{1,3}\.\d{1,3}\.\d{1,3}")


def maker(*, seed: int = 1, broken_share: float = 0.0, domain_share: float = 0.1) -> LineMaker:
    return LineMaker(seed=seed, broken_share=broken_share, domain_share=domain_share)


def test_the_blocked_octets_are_the_sixteen_of_the_texts() -> None:
    assert sorted(BLOCKED_OCTETS) == [
        *(10, 11, 12, 13, 14, 15, 16, 91, 92, 112, 126, 163, 194, 198, 212, 224)
    ]


def test_a_good_line_is_in_the_common_log_format_and_has_ten_fields() -> None:
    made = maker()
    lines = [made.line(MOMENT).value.decode() for _ in range(500)]

    assert [line for line in lines if not COMMON_LOG_FORMAT.fullmatch(line)] == []
    assert {len(line.split(" ")) for line in lines} == {10}


def test_a_line_carries_its_moment_in_utc() -> None:
    line = maker().line(MOMENT)

    assert b"[08/Mar/2026:07:54:30 +0000]" in line.value
    assert line.moment == MOMENT


def test_lines_of_the_next_second_carry_the_next_second() -> None:
    made = maker()
    made.line(MOMENT)

    assert b":07:54:31 +0000]" in made.line(MOMENT + timedelta(seconds=1)).value


def test_one_seed_gives_the_same_lines_and_another_gives_others() -> None:
    def values(seed: int) -> list[bytes]:
        made = maker(seed=seed, broken_share=0.3)
        return [made.line(MOMENT).value for _ in range(200)]

    assert values(7) == values(7)
    assert values(7) != values(8)


def test_a_hit_is_an_address_with_a_blocked_first_octet_and_nothing_else_is() -> None:
    """Some domain names begin like a blocked address."""
    made = maker(domain_share=0.5)

    for line in [made.line(MOMENT) for _ in range(2_000)]:
        assert line.host is not None
        address = ADDRESS.fullmatch(line.host)
        blocked = address is not None and int(address[1]) in BLOCKED_OCTETS
        assert line.is_hit == blocked


def test_about_a_sixteenth_of_the_addresses_are_blocked() -> None:
    made = maker(domain_share=0.0)
    hits = sum(made.line(MOMENT).is_hit for _ in range(20_000))

    assert hits / 20_000 == pytest.approx(1 / 16, abs=0.008)


def test_the_shares_of_domains_and_broken_lines_are_as_asked() -> None:
    made = maker(broken_share=0.2, domain_share=0.25)
    lines = [made.line(MOMENT) for _ in range(10_000)]
    good = [line for line in lines if line.breakage is None]
    domains = [line for line in good if line.host and not ADDRESS.fullmatch(line.host)]

    assert len(good) / len(lines) == pytest.approx(0.8, abs=0.02)
    assert len(domains) / len(good) == pytest.approx(0.25, abs=0.02)


def test_urls_with_commas_and_brackets_occur() -> None:
    made = maker()
    lines = [made.line(MOMENT).value for _ in range(100)]

    assert any(b"ids=[1,2,3]" in line for line in lines)


def test_broken_lines_come_in_every_kind_and_are_never_hits() -> None:
    made = maker(broken_share=1.0)
    lines = [made.line(MOMENT) for _ in range(500)]

    assert set(Counter(line.breakage for line in lines)) == set(Breakage)
    assert {line.is_hit for line in lines} == {False}
    assert {line.host for line in lines} == {None}


def test_no_broken_line_could_pass_for_a_good_one() -> None:
    made = maker(broken_share=1.0)
    values = [made.line(MOMENT).value for _ in range(2_000)]
    texts = [value.decode() for value in values if is_utf8(value)]

    assert len(texts) > 1_000
    assert [text for text in texts if COMMON_LOG_FORMAT.fullmatch(text)] == []


def test_a_kind_that_is_text_decodes_and_the_others_do_not() -> None:
    made = maker(broken_share=1.0)

    for line in [made.line(MOMENT) for _ in range(500)]:
        assert line.breakage is not None
        assert is_utf8(line.value) == line.breakage.is_text


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
