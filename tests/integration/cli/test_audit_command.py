"""`penstock audit` on histories, ledgers and topics that were written by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.delivery.history import HistoryWriter
from penstock.kafka import Admin, Everything, apply_purge, plan_purge
from penstock.kafka.lanes.fingerprints import fingerprint_of
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, Lane
from penstock.kafka.tables import KafkaTable
from support.history import COPY, batches, entry_behind
from support.in_process import PenstockInProcess
from support.producing import Sent, send

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.delivery.records import BatchRecord
    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName
    from support.commands import Outcome

BEGUN = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=30)


class Shop:
    """A pipeline that has written two batches, of two and of one record."""

    def __init__(self, connection: Connection, words: TopicName, folder: Path) -> None:
        self.connection, self.words = connection, words
        self.name = f"shop{uuid4().hex[:8]}"
        environment = {
            "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
            "PENSTOCK_BOOTSTRAP": connection.bootstrap,
        }
        self.penstock = PenstockInProcess(folder, environment)
        self.batches = batches(2, 1, pipeline=self.name, begun=BEGUN, words=words)

    def send(self, values: list[str], batch: BatchRecord) -> None:
        moment = batch.started + timedelta(milliseconds=100)
        send(
            self.connection, self.words, [Sent(key="k", value=v, timestamp=moment) for v in values]
        )

    def write(self, *values: list[str], sent: tuple[list[str], ...] | None = None) -> None:
        """Send the records of the batches, or others, and give these their fingerprints."""
        whole, found = 0, []
        for batch, some, others in zip(self.batches, values, sent or values, strict=True):
            self.send(others, batch)
            own = fingerprint_of([b"k"] * len(some), [item.encode() for item in some])
            whole ^= own
            prints = {"fingerprints": {self.words: own}, "total_fingerprints": {self.words: whole}}
            found.append(replace(batch, **prints))  # type: ignore[arg-type]  # by name
        self.batches = found

    def note(self) -> None:
        """Write history and ledger."""
        writer = HistoryWriter(self.connection)
        for batch in self.batches:
            writer.note(batch)
        writer.close(30)
        self.note_ledger_alone()

    def note_ledger_alone(self) -> None:
        lane = Lane(pipeline=self.name, flow=COPY, name="lines-0")
        with KafkaTable.open(self.connection, LEDGER_TOPIC) as ledger:
            ledger.put(lane.key, entry_behind(self.batches[-1]).to_bytes())

    def audit(self, *options: str) -> Outcome:
        return self.penstock("audit", self.name, *options)


@pytest.fixture
def shop(connection: Connection, kafka: KafkaCluster, tmp_path: Path) -> Shop:
    words = kafka.create_topic(f"words-{uuid4().hex}", partition_count=2)
    return Shop(connection, words, tmp_path)


def test_an_honest_pipeline_adds_up(shop: Shop) -> None:
    shop.write(["a", "b"], ["c"])
    shop.note()
    done = shop.audit("--deep")
    told = shop.audit("--deep", "--batches", "--json").json

    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "it adds up"
    assert told["adds_up"]
    assert told["topics"] == [
        {
            "flow": "copy",
            "topic": shop.words,
            "written": 3,
            "found": 3,
            "compared": "contents",
            "note": None,
        }
    ]
    (flow,) = told["flows"]
    assert flow["read"] == {"lines-0": 3}
    assert flow["ledger"] == flow["written"] == {shop.words: 3}
    assert [batch["batch_id"] for batch in flow["batch_list"]] == [0, 1]


def test_a_range_of_time_is_audited_alone(shop: Shop) -> None:
    shop.write(["a", "b"], ["c"])
    shop.note()
    first, last = shop.batches
    late = shop.audit("--deep", "--json", "--from", last.started.isoformat()).json
    early = shop.audit("--deep", "--json", "--to", first.ended.isoformat()).json

    assert [flow["written"][shop.words] for told in (late, early) for flow in told["flows"]] == [
        1,
        2,
    ]
    assert late["adds_up"]
    assert early["adds_up"]
    assert early["flows"][0]["ledger"] is None


def test_what_does_not_add_up_is_told_in_a_line_each(shop: Shop) -> None:
    shop.write(["a", "b"], ["c"])
    first, last = shop.batches
    shop.batches = [first, replace(last, produced=2)]
    shop.note()
    done = shop.audit()

    assert done.status == 1
    assert done.stdout.splitlines()[-2:] == [
        "output: copy: batch 1 returned 2 rows, and 1 records are written",
        "it does not add up",
    ]


@pytest.mark.parametrize(
    ("sent", "kind", "told"),
    [
        ((["a", "b"], ["c", "c"]), "output", "which holds 4 records of their time"),
        ((["a", "b"], []), "output", "which holds 2 records of their time"),
        ((["a", "b"], ["x"]), "content", "which holds as many with another content"),
    ],
    ids=["one more", "one less", "another"],
)
def test_what_is_in_the_topic_is_compared(
    shop: Shop, sent: tuple[list[str], list[str]], kind: str, told: str
) -> None:
    shop.write(["a", "b"], ["c"], sent=sent)
    shop.note()

    assert shop.audit("--json").json["adds_up"]
    done = shop.audit("--deep", "--json")
    assert done.status == 1
    (finding,) = done.json["findings"]
    assert (finding["kind"], finding["batch_id"]) == (kind, 1)
    assert finding["message"] == (
        f"batches 0 to 1 have written 3 records to `{shop.words}`, {told}; others than noted in "
        "batch 1"
    )


def test_topics_that_cannot_be_compared_are_named_with_the_reason(
    shop: Shop, kafka: KafkaCluster
) -> None:
    compacted = kafka.create_topic(f"words-{uuid4().hex}", config={"cleanup.policy": "compact"})
    shop.batches = batches(2, 1, pipeline=shop.name, begun=BEGUN, words=compacted)
    shop.note()
    done = shop.audit("--deep", "--json")

    assert done.status == 0
    assert [(topic["compared"], topic["note"]) for topic in done.json["topics"]] == [
        ("nothing", "it is compacted")
    ]


def test_what_retention_has_removed_is_no_finding(shop: Shop, connection: Connection) -> None:
    shop.write(["a", "b"], ["c"])
    shop.note()
    with Admin(connection) as admin:
        apply_purge(admin, shop.words, plan_purge(admin, shop.words, Everything()))
    done = shop.audit("--deep", "--json")

    assert done.status == 0
    (topic,) = done.json["topics"]
    assert topic["found"] is None
    assert topic["note"].startswith("retention has removed a part of")


def test_at_least_once_may_be_more_and_not_less(shop: Shop) -> None:
    shop.batches = [
        replace(batch, totals=None, fingerprints={}, total_fingerprints={})
        for batch in shop.batches
    ]
    shop.send(["a", "b"], shop.batches[0])
    shop.note()
    less = shop.audit("--deep", "--json")
    shop.send(["b"], shop.batches[0])
    shop.send(["c"], shop.batches[1])
    more = shop.audit("--deep", "--json")

    assert (less.status, more.status) == (1, 0)
    assert [finding["kind"] for finding in less.json["findings"]] == ["output"]
    (topic,) = more.json["topics"]
    assert (topic["compared"], topic["note"]) == (
        "counts",
        "1 records more: it is written at least once",
    )


def test_a_ledger_without_any_history_proves_nothing(shop: Shop) -> None:
    shop.note_ledger_alone()
    whole, range_ = shop.audit("--json"), shop.audit("--from", "1h", "--json")

    assert (whole.status, range_.status) == (1, 0)
    assert [finding["kind"] for finding in whole.json["findings"]] == ["missing batch"]
    assert whole.json["unproven"] == {"copy": 1}


def test_a_pipeline_that_nobody_knows_is_told_in_a_sentence(shop: Shop) -> None:
    done = shop.audit()

    assert done.status == 2
    assert f"no pipeline `{shop.name}` has ever run on this cluster" in done.stderr
