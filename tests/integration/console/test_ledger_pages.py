"""The pages of the ledger on histories that were written by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.delivery.history import HistoryLimits, HistoryWriter
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, Lane
from penstock.kafka.tables import KafkaTable
from penstock.names import Offset
from support.consoles import running_console
from support.history import COPY, LINES, batches, entry_behind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from penstock.delivery.records import BatchRecord
    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with running_console(kafka.connection, tmp_path_factory.mktemp("console")) as client:
        yield client


def _written(kafka: KafkaCluster, noted: list[BatchRecord]) -> str:
    """Write a history, and the ledger behind it; return the pipeline."""
    writer = HistoryWriter(kafka.connection)
    for batch in noted:
        writer.note(batch)
    writer.close(30)
    table = KafkaTable.open(kafka.connection, LEDGER_TOPIC)
    name = noted[0].pipeline
    table.put(Lane(pipeline=name, flow=COPY, name="0").key, entry_behind(noted[-1]).to_bytes())
    table.close()
    return name


def _history() -> list[BatchRecord]:
    begun = datetime.now(UTC) - timedelta(minutes=5)
    return batches(20, 10, 5, pipeline=f"shop{uuid4().hex[:8]}", begun=begun)


def test_a_history_that_adds_up_says_so(console: TestClient, kafka: KafkaCluster) -> None:
    pipeline = _written(kafka, _history())

    twin = console.get(f"/ledger/{pipeline}?frame=1h", headers=JSON).json()

    assert twin["adds_up"] is True
    [flow] = twin["flows"]
    assert (flow["batches"], flow["records_in"], flow["written"]) == (3, 35, {"words": 35})
    assert flow["ledger"] == {"words": 35}
    assert "It adds up." in console.get(f"/ledger/{pipeline}").text


def test_a_gap_is_named_with_its_flow(console: TestClient, kafka: KafkaCluster) -> None:
    noted = _history()
    late = noted[1].reads[LINES]
    noted[1] = replace(noted[1], reads={LINES: replace(late, first=Offset(late.first + 3))})
    pipeline = _written(kafka, noted)

    page = console.get(f"/ledger/{pipeline}").text
    twin = console.get(f"/ledger/{pipeline}", headers=JSON).json()

    assert "It does not add up." in page
    assert [item["kind"] for item in twin["findings"]][:1] == ["gap"]
    assert "3 offsets were not read" in page
    listed = console.get(f"/ledger/{pipeline}/copy", headers=JSON).json()["batches"]["items"]
    assert [batch["batch_id"] for batch in listed if "gap" in batch["verdict"]] == [1]


def test_batches_are_listed_newest_first(console: TestClient, kafka: KafkaCluster) -> None:
    pipeline = _written(kafka, _history())

    twin = console.get(f"/ledger/{pipeline}/copy?size=2", headers=JSON).json()["batches"]

    assert (twin["total"], twin["pages"]) == (3, 2)
    assert [(item["batch_id"], item["records_in"]) for item in twin["items"]] == [(2, 5), (1, 10)]
    assert twin["items"][0]["reads"] == [
        {"partition": str(LINES), "first": 30, "after": 35, "records": 5}
    ]
    assert [item["verdict"] for item in twin["items"]] == [[], []]
    page = console.get(f"/ledger/{pipeline}/copy?size=2&frame=6h").text
    assert "adds up" in page
    assert "frame=6h&amp;sort=-ended&amp;size=2&amp;page=2" in page


def test_a_page_reads_the_newest_batches_and_says_where_it_stopped(
    console: TestClient, kafka: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of all pipelines may have gigabytes; a page ends before it has read them."""
    monkeypatch.setattr(
        "penstock.console.ledger.pages._LIMITS",
        HistoryLimits(records=2, byte_count=1 << 20, seconds=60),
    )
    history = _history()
    pipeline = _written(kafka, history)

    verdict = console.get(f"/ledger/{pipeline}?frame=1h", headers=JSON).json()
    listed = console.get(f"/ledger/{pipeline}/copy?frame=1h", headers=JSON).json()
    pages = [console.get(f"/ledger/{pipeline}{flow}?frame=1h").text for flow in ("", "/copy")]

    assert verdict["adds_up"] is True
    assert [item["batch_id"] for item in listed["batches"]["items"]] == [2, 1]
    assert datetime.fromisoformat(listed["cut"]) == _to_milliseconds(history[1].ended)
    assert verdict["cut"] == listed["cut"]
    assert [f"<code>penstock audit {pipeline} --from 1h</code>" in page for page in pages][:1] == [
        True
    ]
    assert all("Only the batches since" in page for page in pages)


def _to_milliseconds(moment: datetime) -> datetime:
    """As a timestamp of Kafka has it."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_what_never_ran_is_not_found(console: TestClient, kafka: KafkaCluster) -> None:
    pipeline = _written(kafka, _history())

    assert console.get("/ledger/never-ran", headers=JSON).status_code == 404
    assert console.get(f"/ledger/{pipeline}/nothing", headers=JSON).status_code == 404
