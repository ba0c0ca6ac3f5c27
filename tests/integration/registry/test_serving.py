"""`penstock registry`: serving with users and HTTPS, and what keeps it from serving."""

from __future__ import annotations

import signal
import socket
import ssl
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx2
import pytest

from penstock.kafka import Admin, delete_topics
from penstock.local.cluster import KafkaCluster
from penstock.names import TopicName
from support.certificates import own_certificate
from support.commands import Penstock
from support.in_process import PenstockInProcess
from support.registries import running_registry, two_registries
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def schemas_topic() -> str:
    return f"_schemas-{uuid4().hex}"


@pytest.fixture
def penstock(tmp_path: Path) -> Penstock:
    return Penstock(tmp_path, {})


@pytest.fixture
def users(penstock: Penstock) -> Path:
    line = penstock("registry", "user", "ada", stdin="secret\n")
    assert line.status == 0, line.stderr
    path = penstock.folder / "users.txt"
    path.write_text(line.stdout)
    return path


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for this machine that signs itself, and its key."""
    return own_certificate(tmp_path)


def test_users_and_https_hold_for_forwarded_writes_too(
    kafka: KafkaCluster, schemas_topic: str, users: Path, certificate: tuple[Path, Path]
) -> None:
    environment = {
        "PENSTOCK_REGISTRY_USERS": str(users),
        "PENSTOCK_REGISTRY_CERTIFICATE": str(certificate[0]),
        "PENSTOCK_REGISTRY_KEY": str(certificate[1]),
        "PENSTOCK_REGISTRY_CA": str(certificate[0]),
    }
    trusted = ssl.create_default_context(cafile=certificate[0])
    with (
        two_registries(kafka, schemas_topic, environment, verify=trusted) as (leader, follower),
        httpx2.Client(verify=trusted, timeout=30) as client,
    ):
        assert leader.url.startswith("https://127.0.0.1:")
        denied = client.get(f"{follower.url}/subjects")
        unmeasured = client.get(f"{follower.url}/metrics")
        wrong = client.get(f"{follower.url}/subjects", auth=("ada", "guess"))
        url = f"{follower.url}/subjects/s/versions"
        written = client.post(url, json={"schema": '"string"'}, auth=("ada", "secret"))
        shown = client.get(f"{leader.url}/subjects", auth=("ada", "secret"))
        asking = {
            "PENSTOCK_REGISTRY_URL": follower.url,
            "PENSTOCK_REGISTRY_CA": str(certificate[0]),
            "PENSTOCK_REGISTRY_USERNAME": "ada",
        }
        listed, guessed = (
            PenstockInProcess(users.parent, {**asking, "PENSTOCK_REGISTRY_PASSWORD": password})(
                "schemas", "list", "--json"
            )
            for password in ("secret", "guess")
        )

    assert (denied.status_code, denied.json()["error_code"]) == (401, 401)
    assert (unmeasured.status_code, wrong.status_code) == (401, 401)
    assert (written.json()["id"], shown.json()) == (1, ["s"])
    assert [item["subject"] for item in listed.json] == ["s"]
    assert guessed.stderr.startswith("error[PEN-743]: ")


def test_a_registry_whose_topic_is_deleted_stops_and_says_so(
    kafka: KafkaCluster, schemas_topic: str
) -> None:
    with running_registry(kafka.bootstrap, schemas_topic) as registry:
        with Admin(kafka.connection) as admin:
            delete_topics(admin, [TopicName(schemas_topic)])
        status, errors = registry.ended()
    assert status == 1
    assert errors.startswith(f"error[PEN-725]: the registry on topic `{schemas_topic}` has stopped")


def test_a_port_that_is_taken_is_named(
    kafka: KafkaCluster, schemas_topic: str, penstock: Penstock
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = str(stranger.getsockname()[1])
        outcome = penstock(
            *("registry", "serve", "--port", port, "--bootstrap", kafka.bootstrap),
            *("--topic", schemas_topic),
        )
    assert outcome.status == 1
    assert outcome.stderr.startswith(
        f"error[PEN-722]: the registry cannot be served on `127.0.0.1:{port}`: address already"
    )


def test_a_key_without_its_certificate_is_refused(
    kafka: KafkaCluster, penstock: Penstock, certificate: tuple[Path, Path]
) -> None:
    environment = {"PENSTOCK_REGISTRY_KEY": str(certificate[1])}
    alone = Penstock(penstock.folder, environment)
    swapped = Penstock(
        penstock.folder, environment | {"PENSTOCK_REGISTRY_CERTIFICATE": str(certificate[1])}
    )
    arguments = ("registry", "serve", "--port", "0", "--bootstrap", kafka.bootstrap)
    outcomes = [command(*arguments) for command in (alone, swapped)]
    assert [(item.status, item.stderr[:14]) for item in outcomes] == [(2, "error[PEN-724]")] * 2


def test_a_cluster_that_is_away_is_told_at_once(penstock: Penstock) -> None:
    outcome = penstock("registry", "serve", "--port", "0", "--bootstrap", "127.0.0.1:1")
    assert (outcome.status, outcome.stderr[:14]) == (1, "error[PEN-401]")


def test_a_user_needs_a_name_without_colon_and_a_password(penstock: Penstock) -> None:
    outcomes = [
        penstock("registry", "user", "a:b", stdin="secret\n"),
        penstock("registry", "user", "ada", stdin="\n"),
    ]
    assert [(item.status, item.stderr[:14]) for item in outcomes] == [(2, "error[PEN-930]")] * 2


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_broker_that_restarts_is_waited_for(
    kafka_to_restart: KafkaCluster, schemas_topic: str
) -> None:
    """Reads go on meanwhile, and writes when it is back."""
    broker = kafka_to_restart.broker_ids[0]
    with running_registry(kafka_to_restart.bootstrap, schemas_topic) as registry:
        url = f"{registry.url}/subjects/s/versions"
        assert httpx2.post(url, json={"schema": '"string"'}, timeout=60).json()["id"] == 1
        kafka_to_restart.kill(broker)
        assert (
            httpx2.get(f"{registry.url}/schemas/ids/1", timeout=60).json()["schema"] == '"string"'
        )
        kafka_to_restart.start_broker(broker)
        kafka_to_restart.await_ready()

        def written() -> bool:
            answer = httpx2.post(url, json={"schema": '"bytes"'}, timeout=60)
            return answer.status_code in (200, 409)

        eventually(written, within_seconds=60)
        registry.signal(signal.SIGTERM)
        assert registry.ended()[0] == 0


@pytest.fixture
def kafka_to_restart(tmp_path: Path) -> Iterator[KafkaCluster]:
    """A broker of its own."""
    with KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster:
        yield cluster
