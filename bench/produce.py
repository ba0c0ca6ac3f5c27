"""The rate of `ps.Producer` beside that of the bare client with the same settings.

A broker of its own, records of 100 bytes with keys, until the last acknowledgement. Bare client and
`ps.Producer` run in turn, so that a busy machine slows both. The bare client counts its delivery
reports: without them nobody knows what arrived. The limit is a quarter of the bare rate: the rest
of the time is Python that checks, counts and reports each record.
"""

import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import confluent_kafka
from bench.machine import describe_machine

from penstock.kafka import Producer
from penstock.local.cluster import KafkaCluster

VALUE = b"x" * 100
RECORDS = 200_000
PAIRS = 5
LIMIT = 0.25


def main() -> int:
    """Measure, and compare with the limit."""
    print(describe_machine())
    with (
        TemporaryDirectory() as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder)) as kafka,
    ):
        topic = kafka.create_topic("bench", partition_count=3)
        pairs = [(bare_rate(kafka, topic), our_rate(kafka, topic)) for _ in range(PAIRS)]
    for bare, ours in pairs:
        print(f"bare {bare:>10,.0f} records/s    ps.Producer {ours:>10,.0f} records/s")
    ratio = statistics.median(ours / bare for bare, ours in pairs)
    verdict = "ok" if ratio >= LIMIT else "too slow"
    print(
        f"median: bare {statistics.median(bare for bare, _ in pairs):,.0f}, "
        f"ps.Producer {statistics.median(ours for _, ours in pairs):,.0f} records/s; "
        f"ratio {ratio:.2f}  (limit {LIMIT}: {verdict})"
    )
    return 0 if ratio >= LIMIT else 1


def our_rate(kafka: KafkaCluster, topic: str) -> float:
    """Return the records per second of `ps.Producer`."""
    with Producer(kafka.bootstrap) as producer:
        producer.send_and_wait(topic, VALUE)
        start = time.perf_counter()
        for number in range(RECORDS):
            producer.send(topic, VALUE, key=b"%d" % number)
        producer.flush()
        return RECORDS / (time.perf_counter() - start)


def bare_rate(kafka: KafkaCluster, topic: str) -> float:
    """Return the records per second of the client with the settings of `ps.Producer`."""
    with Producer(kafka.bootstrap) as producer:
        settings = producer.options.client_config(kafka.connection)
    client = confluent_kafka.Producer(settings)
    delivered = 0

    def reported(error: object, _: object) -> None:
        nonlocal delivered
        delivered += error is None

    client.produce(topic, VALUE)
    client.flush()
    start = time.perf_counter()
    for number in range(RECORDS):
        while True:
            try:
                client.produce(topic, VALUE, b"%d" % number, on_delivery=reported)
                break
            except BufferError:
                client.poll(0.01)
        client.poll(0)
    client.flush()
    seconds = time.perf_counter() - start
    if delivered != RECORDS:
        sys.exit(f"only {delivered} of {RECORDS} records were delivered")
    return RECORDS / seconds


if __name__ == "__main__":
    sys.exit(main())
