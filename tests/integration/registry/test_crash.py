"""The leader dies in the middle of a thousand registrations."""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx2
import pytest

from support.registries import RegistryProcess, running_registry, two_registries
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from penstock.local.cluster import KafkaCluster

COUNT = 1000
CLIENTS = 16


class Registrations:
    """Registers schemas with whichever instance answers, and notes the ids that came back."""

    def __init__(
        self, client: httpx2.Client, registries: tuple[RegistryProcess, RegistryProcess]
    ) -> None:
        self._client, self._urls = client, [registry.url for registry in registries]
        self._done = threading.Semaphore(0)
        self.ids: dict[int, int] = {}

    def register(self, number: int) -> None:
        schema = json.dumps({"type": "enum", "name": f"N{number}", "symbols": ["A"]})
        for attempt in range(200):
            url = f"{self._urls[(number + attempt) % 2]}/subjects/s{number}/versions"
            try:
                answer = self._client.post(url, json={"schema": schema})
            except httpx2.HTTPError:
                continue  # killed: the other one answers
            if answer.status_code == 200:
                self.ids[number] = answer.json()["id"]
                self._done.release()
                return
        pytest.fail(f"{number} was never registered")

    def await_done(self, count: int) -> None:
        for _ in range(count):
            assert self._done.acquire(timeout=120)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_no_id_is_given_twice_and_nothing_that_was_answered_is_lost(kafka: KafkaCluster) -> None:
    topic = f"_schemas-{uuid4().hex}"
    with (
        two_registries(kafka, topic) as (leader, follower),
        httpx2.Client(timeout=60) as client,
    ):
        registrations = Registrations(client, (leader, follower))
        with ThreadPoolExecutor(CLIENTS) as pool:
            futures = [pool.submit(registrations.register, number) for number in range(COUNT)]
            registrations.await_done(COUNT // 3)
            leader.process.kill()
            for future in futures:
                future.result()
        assert follower.leads()

    assert len(registrations.ids) == COUNT
    assert [item for item, times in Counter(registrations.ids.values()).items() if times > 1] == []
    assert stored_ids(kafka, topic) == registrations.ids
    with running_registry(kafka.bootstrap, topic) as later:
        found = [
            httpx2.get(f"{later.url}/subjects/s{number}/versions/1", timeout=60).json()["id"]
            for number in range(0, COUNT, 50)
        ]
    assert found == [registrations.ids[number] for number in range(0, COUNT, 50)]


def stored_ids(kafka: KafkaCluster, topic: str) -> dict[int, int]:
    """Return the id of each schema in the topic, by the number in its subject."""
    values = [item.value for item in topic_contents(kafka.bootstrap, topic) if item.value]
    records = [json.loads(value) for value in values]
    assert len(records) == len({record["subject"] for record in records}), "each was written once"
    return {int(record["subject"].removeprefix("s")): record["id"] for record in records}
