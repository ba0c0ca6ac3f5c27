"""The six cases of delivery that every book on Kafka tells, each with our own clients.

The seventh, a deposit that stays before its withdrawal, is about flows:
`test_a_deposit_stays_before_its_withdrawal` in `tests/integration/engine/test_exactly_once.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.kafka import Acks, Producer
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, Lane
from penstock.kafka.lanes.writing import LaneTask, Parts, RecordBatch, write_lane
from penstock.kafka.tables import KafkaTable
from penstock.local.cluster import KafkaCluster
from penstock.names import Offset
from support.crash_harness.brokers import CutCluster
from support.topic_contents import await_commits, topic_contents, values_by_partition
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.names import TopicName

pytestmark = pytest.mark.timeout(400)

SAVING = """
import os, signal, sys
from penstock.kafka import Consumer, Manual, Start, TopicPartition

bootstrap, topic, group, file, first, crash_at = sys.argv[1:]


def save(record):
    with open(file, "ab") as saved:
        saved.write(record.value + b"\\n")
        saved.flush()


with Consumer(bootstrap, group=group, start=Start.EARLIEST, commit=Manual()) as consumer:
    consumer.assign([TopicPartition(topic, 0)])  # nobody waits until the group misses the dead one
    for record in consumer.read_to_end():
        for step in (("save", "commit") if first == "save" else ("commit", "save")):
            if step == "save":
                save(record)
            else:
                consumer.commit()
            if step == first and record.value.decode() == crash_at:
                os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def cuttable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CutCluster]:
    """A broker whose answers can be lost."""
    folder = tmp_path_factory.mktemp("kafka")
    with CutCluster.start_behind_proxy(folder, brokers=1) as cluster:
        yield cluster


def values(bootstrap: str, topic: str, *, isolation: str = "read_committed") -> list[bytes]:
    found = topic_contents(bootstrap, topic, isolation=isolation)
    return [record.value or b"" for record in found]


def send_while_the_answer_is_lost(cluster: CutCluster, acks: Acks) -> list[bytes]:
    """Let a record be written and its acknowledgement be lost; return what is in the topic."""
    topic = cluster.create_topic(f"answers-{uuid4().hex}")
    with Producer(cluster.connection, acks=acks) as producer:
        producer.send_and_wait(topic, "before")
        cluster.proxy.drop_answers()
        producer.send(topic, "payment")
        eventually(
            lambda: values(cluster.bootstrap, topic) == [b"before", b"payment"], within_seconds=30
        )
        cluster.proxy.cut()
        cluster.proxy.mend()
    return values(cluster.bootstrap, topic)


def saved_by_a_consumer_that_crashes(
    connection: Connection, topic: TopicName, folder: Path, *, first: str
) -> list[str]:
    """Let a consumer save or commit first and die between the two; return what is saved."""
    with Producer(connection) as producer:
        for number in range(5):
            producer.send(topic, str(number), partition=0)
    file = folder / "saved"
    arguments = (connection.bootstrap, topic, f"group-{uuid4().hex}", str(file), first)
    for crash_at, status in (("2", -signal.SIGKILL), ("none", 0)):
        command = [sys.executable, "-c", SAVING, *arguments, crash_at]
        ended = subprocess.run(command, check=False, timeout=100)
        assert ended.returncode == status
    return file.read_text().split()


def test_case_1_a_producer_whose_answer_is_lost_sends_again_and_the_record_is_there_twice(
    cuttable: CutCluster,
) -> None:
    found = send_while_the_answer_is_lost(cuttable, Acks.LEADER)

    assert found == [b"before", b"payment", b"payment"]


def test_case_2_a_consumer_that_dies_between_saving_and_committing_saves_twice(
    connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    saved = saved_by_a_consumer_that_crashes(connection, topic, tmp_path, first="save")

    assert saved == ["0", "1", "2", "2", "3", "4"]


@pytest.mark.long
def test_case_3_a_producer_that_awaits_no_answer_loses_what_a_dying_broker_had_taken(
    tmp_path: Path,
) -> None:
    """The broker has the record in its hands, and not in its log, when it dies."""
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        topic, (broker,) = cluster.create_topic("lost"), cluster.broker_ids
        with Producer(cluster.connection, acks=Acks.NONE) as producer:
            producer.send_and_wait(topic, "before")
            eventually(lambda: values(cluster.bootstrap, topic) == [b"before"], within_seconds=30)
            os.kill(cluster.pid(broker), signal.SIGSTOP)
            told = producer.send_and_wait(topic, "payment")
            cluster.kill(broker)
        cluster.start_broker(broker)
        cluster.await_ready()

        assert told.offset is None, "nobody has confirmed it"
        assert values(cluster.bootstrap, topic) == [b"before"]


def test_case_4_a_consumer_that_dies_between_committing_and_saving_never_saves(
    connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    saved = saved_by_a_consumer_that_crashes(connection, topic, tmp_path, first="commit")

    assert saved == ["0", "1", "3", "4"]


def test_case_5_an_idempotent_producer_whose_answer_is_lost_leaves_one_copy(
    cuttable: CutCluster,
) -> None:
    """As all of ours are that wait for all replicas, which is the default."""
    found = send_while_the_answer_is_lost(cuttable, Acks.ALL)

    assert found == [b"before", b"payment"]


def test_case_6_a_transaction_over_several_partitions_is_seen_whole_or_not_at_all(
    connection: Connection, topic: TopicName
) -> None:
    with KafkaTable.open(connection, LEDGER_TOPIC):  # creates it
        lane = Lane(pipeline=f"p{uuid4().hex}", flow="f", name="0")
    task = LaneTask(
        lane=lane,
        query_id="q",
        batch_id=0,
        plan="p",
        known=None,
        position=Offset(0),
        owner=None,
        transaction_seconds=60,
        parts=Parts.NEVER,
    )
    keys: list[bytes | None] = [f"k{number}".encode() for number in range(20)]
    seen_while_open = []

    def records(*, fails: bool) -> Iterator[list[RecordBatch]]:
        yield [RecordBatch(topic, keys, keys, None, 0)]
        eventually(
            lambda: values(connection.bootstrap, topic, isolation="read_uncommitted"),
            within_seconds=30,
        )
        seen_while_open.append(values(connection.bootstrap, topic))
        if fails:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write_lane(connection, task, lambda _: records(fails=True))
    await_commits(connection, topic)
    after_the_abort = values(connection.bootstrap, topic)
    write_lane(connection, task, lambda _: records(fails=False))
    await_commits(connection, topic)

    found = values_by_partition(connection.bootstrap, topic)
    assert (seen_while_open, after_the_abort) == ([[], []], [])
    assert len(found) == 3
    assert {value for some in found.values() for value in some} == set(keys)
    assert sum(map(len, found.values())) == len(keys)
