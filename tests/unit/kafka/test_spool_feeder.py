from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka.producer.errors import (
    DeliveryError,
    ProducerFailedError,
    RetriableDeliveryError,
)
from penstock.kafka.producer.progress import Progress
from penstock.kafka.producer.spool import Spool
from penstock.kafka.producer.spool_feeder import DeliveryReport, OnDelivery, SpoolFeeder
from penstock.kafka.records import Delivery, OutgoingRecord
from penstock.names import Offset, Partition, TopicName
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = TopicName("orders")
DELIVERED = Delivery(topic=TOPIC, partition=Partition(0), offset=Offset(0))
AWAY = RetriableDeliveryError(TOPIC, reason="no leader", hint="wait")
REFUSED = DeliveryError(TOPIC, reason="too old", hint="none")


class Client:
    """Takes what the feeder hands over and reports when the test says so."""

    def __init__(self, folder: Path, *, window: int = 100) -> None:
        self.taken: list[bytes | None] = []
        self.reports: list[OnDelivery] = []
        self.settled: list[DeliveryReport] = []
        self.spool = Spool(folder, limit_bytes=1_000_000)
        self.progress = Progress()
        self.feeder = SpoolFeeder(
            self.spool,
            produce=self.produce,
            settled=self.settle,
            window=window,
            progress=self.progress,
        )

    def produce(self, record: OutgoingRecord, report: OnDelivery) -> None:
        self.taken.append(record.value)
        self.reports.append(report)

    def settle(self, report: DeliveryReport, callback: OnDelivery | None) -> None:
        self.settled.append(report)
        if callback is not None:
            callback(report)

    def report(self, index: int, report: DeliveryReport) -> None:
        self.reports[index](report)
        self.progress.announce()

    def close(self) -> None:
        self.feeder.stop()
        self.feeder.close()


def submit(client: Client, *numbers: int) -> None:
    for number in numbers:
        client.feeder.submit(OutgoingRecord(topic=TOPIC, key=None, value=b"%d" % number), None)


def took(client: Client, *values: bytes) -> None:
    eventually(lambda: len(client.taken) >= len(values), within_seconds=5)
    assert client.taken == list(values)


def test_records_are_handed_over_in_order_and_leave_the_spool_when_acknowledged(
    tmp_path: Path,
) -> None:
    client = Client(tmp_path)
    submit(client, 1, 2)
    took(client, b"1", b"2")
    assert client.feeder.pending == 2

    client.report(0, DELIVERED)
    client.report(1, DELIVERED)

    assert (client.feeder.pending, client.settled) == (0, [DELIVERED, DELIVERED])
    client.close()


def test_no_more_than_the_window_is_with_the_client(tmp_path: Path) -> None:
    client = Client(tmp_path, window=2)
    submit(client, 1, 2, 3, 4)
    took(client, b"1", b"2")

    client.report(1, DELIVERED)  # the first is still open: the window cannot move
    assert client.taken == [b"1", b"2"]
    client.report(0, DELIVERED)
    took(client, b"1", b"2", b"3", b"4")
    client.close()


def test_after_a_retriable_failure_the_rest_is_sent_again_in_order(tmp_path: Path) -> None:
    client = Client(tmp_path)
    submit(client, 1, 2, 3)
    took(client, b"1", b"2", b"3")

    client.report(0, DELIVERED)
    client.report(1, AWAY)
    client.report(2, AWAY)

    took(client, b"1", b"2", b"3", b"2", b"3")
    assert client.feeder.pending == 2
    client.close()


def test_a_refused_record_is_put_aside_and_the_others_go_on(tmp_path: Path) -> None:
    client = Client(tmp_path)
    submit(client, 1, 2)
    took(client, b"1", b"2")

    client.report(0, REFUSED)
    client.report(1, DELIVERED)

    assert (client.feeder.pending, client.settled) == (0, [REFUSED, DELIVERED])
    assert len((tmp_path / "refused.jsonl").read_text().splitlines()) == 1
    client.close()


def test_the_callback_of_a_record_gets_its_report(tmp_path: Path) -> None:
    client = Client(tmp_path)
    reports: list[DeliveryReport] = []
    client.feeder.submit(OutgoingRecord(topic=TOPIC, key=None, value=b"1"), reports.append)
    took(client, b"1")

    client.report(0, DELIVERED)

    assert reports == [DELIVERED]
    client.close()


def test_after_the_client_has_failed_records_stay_and_no_more_are_taken(tmp_path: Path) -> None:
    client = Client(tmp_path)
    submit(client, 1)
    took(client, b"1")

    client.report(0, ProducerFailedError(TOPIC, reason="fenced"))

    try:
        submit(client, 2)
        raised: PenstockError | None = None
    except PenstockError as err:
        raised = err
    assert (type(raised), client.feeder.pending) == (ProducerFailedError, 1)
    client.close()
