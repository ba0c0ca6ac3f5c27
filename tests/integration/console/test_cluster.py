"""Pages of the cluster and its brokers over real ones, of which one is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.kafka import Producer
from support.consoles import proof_in, running_console
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}


@pytest.fixture
def console(
    three_brokers: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    with running_console(
        three_brokers.connection,
        tmp_path_factory.mktemp("console"),
        exporters=three_brokers.metrics_addresses,
    ) as client:
        yield client


@pytest.mark.long
@pytest.mark.timeout(240)
def test_the_cluster_is_shown_with_all_brokers_and_with_one_less(
    console: TestClient, three_brokers: KafkaCluster
) -> None:
    name = three_brokers.create_topic("shown", partition_count=3)
    with Producer(three_brokers.connection) as producer:
        for number in range(300):
            producer.send(name, b"x" * 100, partition=number % 3)

    def is_told() -> bool:
        page = console.get("/cluster", headers=JSON).json()
        asked = {line["request"] for line in page["times"]}
        # An exporter that nobody has asked yet takes its time.
        return asked >= {"Produce"} and bool(page["graphs"]) and not page["findings"]

    eventually(is_told, within_seconds=60)
    page = console.get("/cluster", headers=JSON).json()
    assert [(line["broker"], line["is_reachable"]) for line in page["brokers"]] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    assert (page["controllers"], page["findings"]) == (1, [])
    assert sum(member["is_leader"] for member in page["quorum"]) == 1
    assert {feature["name"] for feature in page["features"]} >= {"metadata.version"}
    assert "Nothing is wrong" in console.get("/cluster").text

    _one_broker(console)
    _configs(console)

    gone = three_brokers.broker_ids[-1]
    eventually(lambda: _replicas(console) == [_partitions(console)] * 3, within_seconds=30)
    three_brokers.kill(gone)

    def is_noticed() -> bool:
        found = console.get("/cluster", headers=JSON).json()
        kinds = [item["kind"] for item in found["findings"]]
        return (
            found["under_replicated"] == _partitions(console)  # the trail may have got a topic
            and kinds[:1] == ["broker away"]
            and "under-replicated partitions" in kinds
        )

    eventually(is_noticed, within_seconds=60)
    held = _partitions(console)
    shown = console.get("/cluster").text
    assert "broker 3, which holds" in shown
    assert "state-critical" in shown
    away = console.get("/cluster/brokers/3", headers=JSON).json()
    assert (away["broker"]["is_reachable"], away["broker"]["replicas"]) == (False, held)
    topic = console.get("/topics/shown", headers=JSON).json()
    assert topic["topic"]["under_replicated"] == 3
    _partitions_without(console, gone, held)


def _replicas(console: TestClient) -> list[int]:
    return [line["replicas"] for line in console.get("/cluster", headers=JSON).json()["brokers"]]


def _partitions(console: TestClient) -> int:
    count: int = console.get("/topics", headers=JSON).json()["partitions"]
    return count


def _partitions_without(console: TestClient, gone: int, held: int) -> None:
    """All partitions miss the broker that is gone, and those that it led are led by others."""

    def listed(**query: str) -> list[dict[str, object]]:
        page = console.get("/cluster/partitions", params={"size": "500", **query}, headers=JSON)
        lines: list[dict[str, object]] = page.json()["partitions"]["items"]
        return lines

    behind = [line["behind"] for line in listed(only="unhealthy")]
    assert behind == [[gone]] * held
    moved = listed(only="moved", broker=str(gone))
    preferred = [line["replicas"][0] for line in moved]  # type: ignore[index]  # JSON
    assert preferred == [gone] * len(moved)
    assert {line["topic"] for line in moved} >= {"shown"}
    assert listed(q="shown", broker="77") == []
    shown = console.get("/cluster/partitions", params={"only": "unhealthy", "q": "shown"}).text
    assert shown.count("under-replicated</small>") == 3


def _one_broker(console: TestClient) -> None:
    def shown() -> Any:  # noqa: ANN401 - JSON
        return console.get("/cluster/brokers/1", headers=JSON).json()

    eventually(lambda: shown()["broker"]["connections"], within_seconds=60)
    page = shown()
    assert page["broker"]["heap_bytes"] < page["broker"]["heap_limit_bytes"]
    assert page["directories"][0]["replicas"] == page["broker"]["replicas"]
    times = {(line["request"], line["quantile"]): line["seconds"] for line in page["times"]}
    assert set(times["Fetch", "0.99"]) == set(page["parts"])
    assert console.get("/cluster/brokers/1").status_code == 200
    assert console.get("/cluster/brokers/77", headers=JSON).status_code == 404
    assert console.get("/cluster/brokers/x", headers=JSON).status_code == 404


def _configs(console: TestClient) -> None:
    place = "/cluster/brokers/1"
    listed = console.get(f"{place}/configs", params={"q": "num.io.threads"}, headers=JSON).json()
    assert [(item["name"], item["value"]) for item in listed["configs"]["items"]] == [
        ("num.io.threads", "2")
    ]
    entered = {"settings": "num.io.threads=3"}
    asked = console.get(f"{place}/alter", params={"_ask": "1", **entered}, headers=JSON).json()
    assert asked["question"]["preview"]["rows"] == [["num.io.threads", "2 (broker's file)", "3"]]
    proof = proof_in(console.get("/cluster").text)
    done = console.post(f"{place}/alter", data={"_proof": proof, **entered})
    assert done.status_code == 303
    changed = {
        "name": "num.io.threads",
        "value": "3",
        "source": "broker",
        "is_read_only": False,
        "can_be_edited": True,
    }
    # A broker takes a change in a moment after it was accepted.
    eventually(lambda: _listed(console, f"{place}/configs")[0] == changed, within_seconds=30)
    read_only = console.get(
        f"{place}/alter", params={"_ask": "1", "settings": "log.dirs=/x"}, headers=JSON
    )
    assert read_only.json()["code"] == "PEN-422"
    shared = {"settings": "log.retention.ms=86400000"}
    assert console.post("/cluster/alter", data={"_proof": proof, **shared}).status_code == 303
    wanted = ("log.retention.ms", "86400000")
    eventually(
        lambda: (
            wanted
            in [(item["name"], item["value"]) for item in _listed(console, "/cluster/configs")]
        ),
        within_seconds=30,
    )
    assert "Configs of all brokers" in console.get("/cluster/configs").text


def _listed(console: TestClient, place: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = console.get(place, headers=JSON).json()["configs"]["items"]
    return found
