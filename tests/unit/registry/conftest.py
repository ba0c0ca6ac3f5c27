import asyncio
from collections.abc import Iterator

import pytest

from penstock.registry.api import create_app
from penstock.registry.service import Registry
from penstock.registry.state import RegistryState
from support.folded_registry import Api, FoldingLog


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all requests: starting one takes longer than most of them."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def api(runner: asyncio.Runner) -> Api:
    """The API of an empty registry."""
    state = RegistryState()
    log = FoldingLog(state)
    app = create_app(Registry(state, log), max_request_bytes=2_000_000, kafka_cluster_id="kafka-1")
    return Api(app, runner, log)
