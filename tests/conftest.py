"""Fixtures of all tiers: real brokers and a real Spark, started as the commands start them."""

import os
import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from penstock.control import asking
from penstock.engine import SparkDriver
from penstock.kafka import Connection
from penstock.local import ports
from penstock.local.cluster import KafkaCluster
from penstock.names import TopicName
from support.driver import spark_driver
from support.postgres import postgres, postgres_dsn
from support.registries import running_registry

__all__ = ["postgres", "postgres_dsn", "spark_driver"]  # fixtures that are defined elsewhere

pytest_plugins = ["support.second_tries"]

# Some seconds pass between the choice of a broker's port and its use: neighbors choose from others.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
ports._CHOICES = range(10_000 + 7_000 * (_WORKER % 3), 17_000 + 7_000 * (_WORKER % 3))  # noqa: SLF001 - nobody else has neighbors

# How long an example takes says more of the machine than of the code.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

# A script that starts tests in the background makes them ignore Ctrl-C, which some are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture
def patient_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drivers take their time to answer: two seconds are for people who wait, not for tests."""
    monkeypatch.setattr(asking.ask, "__defaults__", (30.0,))
    monkeypatch.setattr(asking, "_FORGET_SECONDS", 20.0)
    # Drivers that a test has only told of say nothing more, and are not lost for that.
    monkeypatch.setattr("penstock.control.fleet.SILENCE_SECONDS", 600.0)


@pytest.fixture(scope="session")
def registry_url(kafka: KafkaCluster) -> Iterator[str]:
    """Where a schema registry answers: one for the whole run, so use subjects of your own."""
    with running_registry(kafka.bootstrap, f"_schemas-{uuid4().hex}") as registry:
        yield registry.url


@pytest.fixture
def spark(spark_driver: SparkDriver) -> SparkSession:
    """A session in the Spark of this process; a test's settings and views stay in it."""
    return spark_driver.session().newSession()
