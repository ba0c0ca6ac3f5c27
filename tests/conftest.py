"""Fixtures of all tiers: real brokers, started by the code behind `penstock up`."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from penstock.kafka import Connection
from penstock.local.cluster import KafkaCluster
from penstock.names import TopicName
from support.postgres import postgres, postgres_dsn

__all__ = ["postgres", "postgres_dsn"]  # fixtures that are defined elsewhere


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One broker for the whole run."""
    with KafkaCluster.start(brokers=1, data_dir=tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def three_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers for one module: its tests stop, kill and start them."""
    with KafkaCluster.start(brokers=3, data_dir=tmp_path_factory.mktemp("kafka3")) as cluster:
        yield cluster


@pytest.fixture
def connection(kafka: KafkaCluster) -> Connection:
    """How to reach the broker of the run."""
    return kafka.connection


@pytest.fixture
def topic(kafka: KafkaCluster) -> TopicName:
    """A topic nobody else uses: tests run in any order and side by side."""
    return kafka.create_topic(f"test-{uuid4().hex}", partition_count=3)
