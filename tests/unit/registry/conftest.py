from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from penstock.registry.api import create_app
from penstock.registry.service import Registry
from penstock.registry.state import RegistryState
from support.folded_registry import Api, FoldingLog


@pytest.fixture
def api() -> Iterator[Api]:
    """The API of an empty registry."""
    state = RegistryState()
    log = FoldingLog(state)
    app = create_app(Registry(state, log), max_request_bytes=2_000_000, kafka_cluster_id="kafka-1")
    with TestClient(app) as client:
        yield Api(client, log)
