"""The page of the trail: paging, filters, and entries that would rather be run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from penstock.control.trail import Trail, TrailEntry
from support.consoles import running_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}
HOSTILE = "<script>alert(1)</script>"


class Written:
    """A console, and the name that the entries of this module have in them."""

    def __init__(self, client: TestClient, mark: str) -> None:
        self.client, self.mark = client, mark

    def twin(self, query: str) -> dict[str, Any]:
        answer = self.client.get(f"/trail?target={self.mark}&{query}", headers=JSON)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture(scope="module")
def written(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    mark, at = uuid4().hex, datetime(2026, 5, 1, tzinfo=UTC)
    trail = Trail(kafka.connection)
    for number in range(12):
        trail.record(
            TrailEntry(
                at=at + timedelta(minutes=number),
                who="alice" if number % 2 else HOSTILE,
                role="operator",
                address="10.0.0.7",
                action="pause_flow" if number % 3 else "reset_group",
                target=f"flow {mark}/{number}",
                done=None if number == 7 else f"done {number}",
                refused="it is stopped" if number == 7 else None,
            )
        )
    trail.close()
    with running_console(kafka.connection, tmp_path_factory.mktemp("trail")) as client:
        yield Written(client, mark)


def numbers(page: dict[str, Any]) -> list[int]:
    return [int(entry["target"].rpartition("/")[2]) for entry in page["entries"]]


def test_the_newest_entries_come_first_and_older_ones_are_a_link_away(written: Written) -> None:
    first = written.twin("size=5")
    older = written.client.get(first["older"], headers=JSON).json()
    same = written.client.get(first["same"], headers=JSON).json()

    assert numbers(first) == [11, 10, 9, 8, 7]
    assert numbers(older) == [6, 5, 4, 3, 2]
    assert numbers(same) == numbers(first)


def test_entries_are_found_by_who_what_and_outcome(written: Written) -> None:
    assert numbers(written.twin("who=ALICE")) == [11, 9, 7, 5, 3, 1]
    assert numbers(written.twin("action=reset")) == [9, 6, 3, 0]
    assert numbers(written.twin("outcome=refused")) == [7]
    assert numbers(written.twin("who=alice&action=pause_flow&outcome=done")) == [11, 5, 1]
    assert written.twin("who=nobody")["entries"] == []


def test_what_is_not_understood_is_said(written: Written) -> None:
    for query in ("outcome=maybe", "begin=x"):
        answer = written.client.get(f"/trail?{query}", headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (422, "PEN-778")


def test_the_page_shows_entries_and_runs_none(written: Written) -> None:
    page = written.client.get(f"/trail?target={written.mark}").text

    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert "it is stopped" in page
    assert "penstock consume _penstock.audit --last 50" in page
