"""Several registries on one topic: any answers, one leads, another takes over."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx2
import pytest

from penstock.kafka import Admin
from penstock.kafka.groups.description import members_of
from penstock.names import GroupId
from support.raw_records import RawRecord, send_raw
from support.registries import RegistryProcess, running_registry, two_registries
from support.topic_contents import topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    from penstock.local.cluster import KafkaCluster

# A write waits for an election, which takes up to the session time-out of six seconds.
PATIENT = httpx2.Timeout(60)


@pytest.fixture
def schemas_topic() -> str:
    return f"_schemas-{uuid4().hex}"


def avro(name: str) -> str:
    return json.dumps({"type": "enum", "name": name, "symbols": ["A"]}, separators=(",", ":"))


def register(registry: RegistryProcess, subject: str, schema: str) -> int:
    url = f"{registry.url}/subjects/{subject}/versions"
    answer = httpx2.post(url, json={"schema": schema}, timeout=PATIENT)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def subjects(registry: RegistryProcess) -> list[str]:
    found: list[str] = httpx2.get(f"{registry.url}/subjects", timeout=PATIENT).json()
    return sorted(found)


def test_a_follower_forwards_writes_and_shows_them_at_once(
    kafka: KafkaCluster, schemas_topic: str
) -> None:
    with two_registries(kafka, schemas_topic) as (leader, follower):
        assert (leader.leads(), follower.leads()) == (True, False)
        for number in range(10):
            register(follower, f"s{number}", avro(f"N{number}"))
            assert len(subjects(follower)) == number + 1
        assert subjects(leader) == subjects(follower)
        deleted = httpx2.delete(f"{follower.url}/subjects/s0", timeout=PATIENT)
        refused = httpx2.delete(f"{follower.url}/subjects/s0", timeout=PATIENT)
        assert (deleted.status_code, deleted.json()) == (200, [1])
        assert (refused.status_code, refused.json()["error_code"]) == (404, 40404)
        # Whoever does not lead and was asked by another instance does not ask on.
        answer = httpx2.put(
            f"{follower.url}/config",
            json={"compatibility": "FULL"},
            headers={"X-Forward": "false"},
            timeout=PATIENT,
        )
        assert (answer.status_code, answer.json()["error_code"]) == (500, 50004)
        told = [
            httpx2.get(f"{each.url}/metrics", timeout=PATIENT).text.splitlines()
            for each in (leader, follower)
        ]

    assert ["penstock_registry_leads 1.0" in lines for lines in told] == [True, False]
    assert ["penstock_registry_subjects 9.0" in lines for lines in told] == [True, True]
    counted = 'penstock_registry_requests_total{asked="subjects",status="404"} 1.0'
    assert [counted in lines for lines in told] == [True, True]  # one asked the other


def test_a_leader_that_stops_in_good_order_is_followed_at_once(
    kafka: KafkaCluster, schemas_topic: str
) -> None:
    with two_registries(kafka, schemas_topic) as (leader, follower):
        first = register(leader, "s1", avro("One"))
        leader.signal(signal.SIGTERM)
        assert leader.ended() == (0, "")
        with Admin(kafka.connection) as admin:
            group = GroupId(f"penstock-registry:{schemas_topic}")
            # It has left: a dead one would be missed for six seconds.
            eventually(lambda: len(members_of(admin, group)) == 1, within_seconds=5)
        eventually(follower.leads, within_seconds=30)
        assert register(follower, "s2", avro("Two")) == first + 1


def test_a_frozen_leader_that_wakes_up_gives_no_id_twice(
    kafka: KafkaCluster, schemas_topic: str
) -> None:
    with two_registries(kafka, schemas_topic) as (leader, follower):
        ids = [register(leader, "s1", avro("One"))]
        leader.signal(signal.SIGSTOP)
        ids.append(register(follower, "s2", avro("Two")))
        leader.signal(signal.SIGCONT)
        ids.append(register(leader, "s3", avro("Three")))
        ids.append(register(follower, "s4", avro("Four")))

        assert ids == [1, 2, 3, 4]
        eventually(
            lambda: subjects(leader) == subjects(follower) == ["s1", "s2", "s3", "s4"],
            within_seconds=10,
        )
        assert [leader.leads(), follower.leads()] == [False, True]


def test_a_topic_that_confluent_has_written_is_served_in_place(
    kafka: KafkaCluster, schemas_topic: str
) -> None:
    """Keys and values as Confluent's registry writes them, and a kind of key nobody here knows."""
    kafka.create_topic(schemas_topic, partition_count=1, config={"cleanup.policy": "compact"})
    text = avro("One")
    value = {"subject": "orders-value", "version": 1, "id": 7, "schema": text, "deleted": False}
    written = [
        (b'{"keytype":"NOOP","magic":0}', None),
        (
            b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}',
            json.dumps(value, separators=(",", ":")).encode(),
        ),
        (
            b'{"keytype":"CONFIG","subject":"orders-value","magic":0}',
            b'{"compatibilityLevel":"FULL"}',
        ),
        (b'{"keytype":"FROM_THE_FUTURE","magic":3}', b"{}"),
        (b"not even JSON", b"x"),
    ]
    send_raw(kafka.connection, schemas_topic, [RawRecord(key=k, value=v) for k, v in written])

    with running_registry(kafka.bootstrap, schemas_topic) as registry:
        found = httpx2.get(f"{registry.url}/schemas/ids/7", timeout=PATIENT).json()
        config = httpx2.get(f"{registry.url}/config/orders-value", timeout=PATIENT).json()
        again = register(registry, "orders-value", text)
        fresh = register(registry, "customers-value", avro("Two"))

    assert (found["schema"], config) == (text, {"compatibilityLevel": "FULL"})
    assert (again, fresh) == (7, 8)
    stored = [(item.key, item.value) for item in topic_contents(kafka.bootstrap, schemas_topic)]
    assert stored[: len(written)] == written
    key, content = stored[len(written)]
    assert key == b'{"keytype":"SCHEMA","subject":"customers-value","version":1,"magic":1}'
    assert content is not None
    assert json.loads(content)["id"] == 8


def test_a_restarted_registry_has_everything(kafka: KafkaCluster, schemas_topic: str) -> None:
    with running_registry(kafka.bootstrap, schemas_topic) as registry:
        register(registry, "s1", avro("One"))
        httpx2.put(f"{registry.url}/config", json={"compatibility": "NONE"}, timeout=PATIENT)
        registry.signal(signal.SIGTERM)
        assert registry.ended()[0] == 0
    with running_registry(kafka.bootstrap, schemas_topic) as registry:
        assert subjects(registry) == ["s1"]
        assert httpx2.get(f"{registry.url}/config", timeout=PATIENT).json() == {
            "compatibilityLevel": "NONE"
        }
