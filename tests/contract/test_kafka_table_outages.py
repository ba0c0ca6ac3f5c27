"""The contract of `KafkaTable` while brokers restart and the log is compacted."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from penstock.kafka import Producer
from penstock.kafka.errors import ClusterError
from penstock.kafka.tables import KafkaTable
from penstock.local.cluster import KafkaCluster
from support.tables import unused_topic
from support.topic_contents import topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.kafka import Connection
    from penstock.kafka.tables import Entry
    from penstock.names import TopicName


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker of their own: a start takes long with all that other tests have left behind."""
    with KafkaCluster.start(brokers=1, data_dir=tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@dataclass
class Counting:
    """Writes 1, 2, 3 … under one key in a thread and notes what was acknowledged."""

    write: Callable[[bytes, Entry | None], Entry]
    acknowledged: list[Entry] = field(default_factory=list)
    faults: list[ClusterError] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Counting:
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.thread.join()

    def run(self) -> None:
        number = 0
        while not self.stopping.wait(0.01):
            number += 1
            last = self.acknowledged[-1] if self.acknowledged else None
            try:
                self.acknowledged.append(self.write(b"%d" % number, last))
            except ClusterError as fault:
                self.faults.append(fault)

    def await_progress(self) -> None:
        """Return when another ten writes were acknowledged."""
        enough = len(self.acknowledged) + 10
        eventually(lambda: len(self.acknowledged) >= enough, within_seconds=100)


@pytest.mark.timeout(400)
def test_nothing_that_was_acknowledged_is_lost_when_the_broker_restarts(
    kafka: KafkaCluster,
) -> None:
    topic = unused_topic()
    told: list[tuple[str, Entry | None]] = []

    def put(value: bytes, _last: Entry | None) -> Entry:
        return table.put("plain", value)

    def put_if(value: bytes, last: Entry | None) -> Entry:
        return table.put_if("conditional", value, version=last.version if last else None)

    with (
        KafkaTable.open(kafka.connection, topic, timeout_seconds=120) as table,
        KafkaTable.open(
            kafka.connection, topic, on_change=lambda key, entry: told.append((key, entry))
        ) as follower,
        Counting(put) as plain,
        Counting(put_if) as conditional,
    ):
        for writer in (plain, conditional):
            writer.await_progress()
        kafka.stop(kafka.broker_ids[0])
        kafka.start_broker(kafka.broker_ids[0])
        kafka.await_ready()
        for writer in (plain, conditional):
            writer.await_progress()
            writer.stopping.set()
            writer.thread.join()
        follower.refresh(60)
        shown = follower.snapshot()
        eventually(lambda: ("plain", plain.acknowledged[-1]) in told, within_seconds=20)
        eventually(lambda: ("conditional", conditional.acknowledged[-1]) in told, within_seconds=20)

    assert (plain.faults, conditional.faults) == ([], [])
    assert shown == {"plain": plain.acknowledged[-1], "conditional": conditional.acknowledged[-1]}
    for key, writer in (("plain", plain), ("conditional", conditional)):
        numbers = [int(entry.value) for entry in writer.acknowledged]
        in_topic = [
            (record.offset, record.value)
            for record in topic_contents(kafka.bootstrap, topic)
            if record.key == key.encode()
        ]
        assert numbers == list(range(1, len(numbers) + 1))
        assert in_topic == [(entry.version, entry.value) for entry in writer.acknowledged]
        assert [entry for name, entry in told if name == key] == writer.acknowledged


def test_a_table_is_right_while_its_topic_is_compacted(
    kafka: KafkaCluster, connection: Connection
) -> None:
    topic = kafka.create_topic(
        unused_topic(),
        config={
            "cleanup.policy": "compact",
            "message.timestamp.type": "LogAppendTime",
            "segment.ms": "500",
            "min.cleanable.dirty.ratio": "0.01",
            "max.compaction.lag.ms": "500",
            "delete.retention.ms": "0",
        },
    )
    with KafkaTable.open(connection, topic) as table:
        fill(connection, topic, rounds=100)
        lease = table.put_if("lease", b"0", version=None)
        written = 100 * 20 + 1
        number = 0

        def is_compacted() -> bool:
            """Write on meanwhile: segments are closed when a record comes."""
            nonlocal lease, number, written
            number += 1
            lease = table.put_if("lease", b"%d" % number, version=lease.version)
            table.put("odd" if number % 2 else "even", b"%d" % number)
            table.delete("even" if number % 2 else "odd")
            written += 3
            with KafkaTable.open(connection, topic) as loaded:
                assert loaded.snapshot() == table.snapshot()
            return len(topic_contents(connection.bootstrap, topic)) < written // 10

        eventually(is_compacted, within_seconds=45)

        shown = table.snapshot()
        assert set(shown) == {f"key/{key}" for key in range(20)} | {
            "lease",
            "odd" if number % 2 else "even",
        }
        assert {shown[f"key/{key}"].value for key in range(20)} == {b"99"}
        assert shown["lease"] == lease
        assert topic_contents(connection.bootstrap, topic)[0].offset > 0


def fill(connection: Connection, topic: TopicName, *, rounds: int) -> None:
    with Producer(connection) as producer:
        for number in range(rounds):
            for key in range(20):
                producer.send(topic, str(number), key=f"key/{key}")


@pytest.mark.long
def test_what_is_waited_for_while_the_broker_is_away_fails_in_time_and_comes_later(
    kafka: KafkaCluster,
) -> None:
    with KafkaTable.open(kafka.connection, unused_topic(), timeout_seconds=3) as table:
        written = table.put_if("a", b"1", version=None)
        kafka.stop(kafka.broker_ids[0])
        try:
            for call in (
                lambda: table.refresh(1),
                lambda: table.put("b", b"1"),
                lambda: table.put_if("a", b"2", version=written.version),
            ):
                with pytest.raises(ClusterError) as caught:
                    call()
                assert caught.value.retryable
            assert table.get("a") == written
        finally:
            kafka.start_broker(kafka.broker_ids[0])
            kafka.await_ready()
        table.refresh(20)
        found = table.get("a")
        assert found is not None
        assert table.put_if("a", b"3", version=found.version).value == b"3"
