"""The spool against a broker of its own, which these tests kill and start again."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.kafka import (
    Compression,
    DeliveriesFailedError,
    HotKeyPartitioner,
    Producer,
    SpoolFullError,
    SpoolInUseError,
    UndeliveredError,
)
from penstock.local.cluster import KafkaCluster
from support.topic_contents import topic_contents, values_by_partition
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kafka import ProducerMetrics
    from penstock.names import TopicName

FILL = Path(__file__).with_name("fill_spool.py")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with KafkaCluster.start(brokers=1, data_dir=tmp_path_factory.mktemp("spooled")) as cluster:
        yield cluster


@pytest.fixture
def own_topic(broker: KafkaCluster) -> TopicName:
    return broker.create_topic(f"spool-{uuid4().hex}", partition_count=2)


def entries_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.entries"))


@dataclass(frozen=True, kw_only=True)
class Outage:
    """What was tried while the broker was away, seen after it has come back."""

    bootstrap: str
    kept_open: Kept
    closed: TopicName
    accepted_until_full: int
    full: TopicName
    killed: Killed
    partitioned: TopicName


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A producer that stayed open all the time."""

    topic: TopicName
    while_away: ProducerMetrics
    files_while_away: list[str]
    flush_failed_with: UndeliveredError
    after: ProducerMetrics
    files_after: list[str]


@dataclass(frozen=True, kw_only=True)
class Killed:
    """A process that was killed with a filled spool."""

    topic: TopicName
    accepted: int


@pytest.fixture(scope="module")
def outage(broker: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Outage:
    """One outage for all: killing and starting a broker takes seconds."""
    folders = [tmp_path_factory.mktemp("spool") for _ in range(5)]
    topics = [broker.create_topic(f"away-{uuid4().hex}", partition_count=2) for _ in range(5)]
    (broker_id,) = broker.broker_ids
    broker.kill(broker_id)

    kept = Producer(broker.bootstrap, spool=folders[0])
    for number in range(500):
        kept.send(topics[0], str(number), key=str(number % 5))
    with pytest.raises(UndeliveredError) as flush_failed:
        kept.flush(timeout_seconds=0.5)
    while_away, files_while_away = kept.metrics(), entries_in(folders[0])

    with Producer(broker.bootstrap, spool=folders[1]) as closed:
        closed.send(topics[1], "first", partition=0)
        closed.close(timeout_seconds=0.2)

    full = Producer(broker.bootstrap, spool=folders[2], spool_limit_bytes=1000)
    accepted_until_full = send_until_full(full, topics[2])

    killed = killed_while_sending(broker, topics[3], folders[3])

    partitioner = HotKeyPartitioner(["Banana"])
    partitioned = Producer(broker.bootstrap, spool=folders[4], partitioner=partitioner)
    partitioned.send(topics[4], "hot", key="Banana")
    partitioned.send(topics[4], "cold", key="Apple")

    broker.start_broker(broker_id)
    broker.await_ready()
    kept.flush(timeout_seconds=30)
    after = kept.metrics()
    with Producer(broker.bootstrap, spool=folders[1]) as reopened:
        reopened.send(topics[1], "second", partition=0)
    for producer in (kept, full, partitioned):
        producer.close(timeout_seconds=30)
    with Producer(broker.bootstrap, spool=folders[3]) as next_process:
        next_process.flush()
    return Outage(
        bootstrap=broker.bootstrap,
        kept_open=Kept(
            topic=topics[0],
            while_away=while_away,
            files_while_away=files_while_away,
            flush_failed_with=flush_failed.value,
            after=after,
            files_after=entries_in(folders[0]),
        ),
        closed=topics[1],
        accepted_until_full=accepted_until_full,
        full=topics[2],
        killed=killed,
        partitioned=topics[4],
    )


def send_until_full(producer: Producer, topic: TopicName) -> int:
    for number in range(1000):
        try:
            producer.send(topic, str(number), partition=0)
        except SpoolFullError:
            return number
    pytest.fail("1,000 records fit into 1,000 bytes")


def killed_while_sending(broker: KafkaCluster, topic: TopicName, folder: Path) -> Killed:
    """Run a process that prints each record `send` has returned for, and kill it meanwhile."""
    process = subprocess.Popen(
        [sys.executable, str(FILL), broker.bootstrap, topic, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    accepted = [process.stdout.readline() for _ in range(200)]
    process.kill()
    accepted += [line for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    return Killed(topic=topic, accepted=len(accepted))


def test_records_sent_while_the_cluster_is_away_arrive_in_order(outage: Outage) -> None:
    found = topic_contents(outage.bootstrap, outage.kept_open.topic)

    assert {
        key: [record.value for record in found if record.key == key]
        for key in (b"0", b"1", b"2", b"3", b"4")
    } == {b"%d" % rest: [b"%d" % number for number in range(rest, 500, 5)] for rest in range(5)}


def test_the_spool_is_purged_only_after_the_acknowledgement(outage: Outage) -> None:
    kept = outage.kept_open

    assert (kept.while_away.spooled, kept.while_away.in_flight) == (500, 500)
    assert kept.files_while_away == [f"{0:020d}.entries"]
    assert (kept.after.spooled, kept.after.delivered) == (0, 500)
    assert kept.files_after == []


def test_flushing_while_the_cluster_is_away_says_that_records_are_kept(outage: Outage) -> None:
    error = outage.kept_open.flush_failed_with

    assert error.message.startswith("500 records not acknowledged within 0.5 s")
    assert error.hint.startswith("they stay in `")


def test_closing_while_the_cluster_is_away_leaves_the_records_for_the_next_producer(
    outage: Outage,
) -> None:
    assert values_by_partition(outage.bootstrap, outage.closed) == {0: [b"first", b"second"]}


def test_a_full_spool_refuses_what_it_cannot_keep(outage: Outage) -> None:
    expected = [str(number).encode() for number in range(outage.accepted_until_full)]

    assert 0 < len(expected) < 100
    assert values_by_partition(outage.bootstrap, outage.full) == {0: expected}


def test_a_killed_process_leaves_its_spool_to_the_next(outage: Outage) -> None:
    """`kill -9` in the middle of sending: what `send` has returned for is there, in order."""
    (found,) = values_by_partition(outage.bootstrap, outage.killed.topic).values()

    assert found == [b"%d" % number for number in range(len(found))]
    # The record that was being accepted when the process died may be there or not.
    assert len(found) - outage.killed.accepted in (0, 1)


def test_a_partitioner_is_asked_when_the_cluster_is_there(outage: Outage) -> None:
    found = values_by_partition(outage.bootstrap, outage.partitioned)

    assert found == {0: [b"cold"], 1: [b"hot"]}


def test_a_process_killed_while_the_cluster_takes_its_records_repeats_only_the_last(
    own_topic: TopicName, broker: KafkaCluster, tmp_path: Path
) -> None:
    """At least once: nothing is missing, and what comes twice is what was not yet acknowledged."""
    process = subprocess.Popen(
        [sys.executable, str(FILL), broker.bootstrap, own_topic, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(3000):
        process.stdout.readline()
    process.kill()
    process.stdout.close()
    process.wait()

    with Producer(broker.bootstrap, spool=tmp_path) as producer:
        producer.flush()

    (found,) = values_by_partition(broker.bootstrap, own_topic).values()
    numbers = [int(value or b"") for value in found]
    assert sorted(set(numbers)) == list(range(max(numbers) + 1))
    assert max(numbers) + 1 >= 3000
    # One break in the sequence, where the next process began; at most a window goes back.
    breaks = [
        (before, after) for before, after in itertools.pairwise(numbers) if after != before + 1
    ]
    assert len(breaks) <= 1
    assert all(0 <= before - after < 10_000 for before, after in breaks)


def test_a_record_that_is_refused_for_good_is_put_aside_and_the_others_go_on(
    broker: KafkaCluster, tmp_path: Path
) -> None:
    topic = broker.create_topic(f"small-{uuid4().hex}", config={"max.message.bytes": "10000"})
    producer = Producer(
        broker.bootstrap, spool=tmp_path, compression=Compression.NONE, batch_bytes=5000
    )
    producer.send(topic, "before")
    producer.flush()
    producer.send(topic, b"x" * 20_000)
    producer.send(topic, "after")

    with pytest.raises(DeliveriesFailedError, match="1 record failed"):
        producer.flush()
    producer.close()

    assert values_by_partition(broker.bootstrap, topic) == {0: [b"before", b"after"]}
    assert len((tmp_path / "refused.jsonl").read_text().splitlines()) == 1


def test_waiting_for_a_spooled_record_returns_its_place(
    own_topic: TopicName, broker: KafkaCluster, tmp_path: Path
) -> None:
    with Producer(broker.bootstrap, spool=tmp_path) as producer:
        delivery = producer.send_and_wait(own_topic, "x", partition=1)
        eventually(lambda: producer.metrics().spooled == 0, within_seconds=5)

    assert (delivery.partition, delivery.offset) == (1, 0)


def test_a_spool_belongs_to_one_producer(broker: KafkaCluster, tmp_path: Path) -> None:
    with Producer(broker.bootstrap, spool=tmp_path), pytest.raises(SpoolInUseError):
        Producer(broker.bootstrap, spool=tmp_path)
