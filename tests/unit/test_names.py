import pytest

from penstock.names import nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ordres", "orders"),
        ("orders", "orders"),
        ("ORDERS", None),
        ("payment", "payments"),
        ("weather", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_one_a_typing_slip_away(name: str, expected: str | None) -> None:
    assert nearest(name, ["orders", "payments", "clicks"]) == expected


def test_nothing_is_near_when_nothing_is_known() -> None:
    assert nearest("orders", []) is None
