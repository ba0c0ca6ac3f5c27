"""Fixtures of tests that watch flows on a real cluster."""

from collections.abc import Iterator

import pytest

from penstock.kafka import Admin, Connection


@pytest.fixture
def admin(connection: Connection) -> Iterator[Admin]:
    """An administrator of the broker of the run."""
    with Admin(connection) as admin:
        yield admin
