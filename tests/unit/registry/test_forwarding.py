"""Which requests are the leader's to do."""

import pytest

from penstock.registry.forwarding import is_write


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/subjects/orders-value/versions", True),
        ("POST", "/contexts/.test/subjects/orders-value/versions/", True),
        ("POST", "/subjects/orders-value", False),
        ("POST", "/", False),
        ("POST", "/compatibility/subjects/orders-value/versions", False),
        ("POST", "/compatibility/subjects/orders-value/versions/latest", False),
        ("GET", "/subjects/orders-value/versions", False),
        ("PUT", "/config", True),
        ("PUT", "/mode/orders-value", True),
        ("DELETE", "/subjects/orders-value", True),
    ],
)
def test_what_writes_is_told_from_what_only_asks(method: str, path: str, expected: bool) -> None:  # noqa: FBT001
    assert is_write(method, path) is expected
