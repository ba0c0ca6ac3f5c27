"""The rate of `ps.Producer` beside that of the bare client with the same settings.

    python bench/produce.py BOOTSTRAP TOPIC [RECORDS] [PAIRS]

Runs A (bare) and B (ours) in turn, so that a busy machine slows both; prints medians and ratio.
The bare client counts its delivery reports too: without them nobody knows what arrived.
"""

import statistics
import sys
import time

import confluent_kafka

from penstock.kafka.connection import Connection
from penstock.kafka.producer import Producer
from penstock.kafka.producer_options import Acks, Compression, ProducerOptions

VALUE = b"x" * 100


def main() -> None:
    """Measure and print."""
    bootstrap, topic = sys.argv[1:3]
    records, pairs = (int(text) for text in [*sys.argv[3:5], "200000", "5"][:2])
    bare, ours = [], []
    for _ in range(pairs):
        bare.append(records / bare_seconds(bootstrap, topic, records))
        ours.append(records / our_seconds(bootstrap, topic, records))
        print(f"bare {bare[-1]:>10,.0f} records/s    ps.Producer {ours[-1]:>10,.0f} records/s")
    ratio = statistics.median(b / a for a, b in zip(bare, ours, strict=True))
    print(
        f"median: bare {statistics.median(bare):,.0f}, ps.Producer {statistics.median(ours):,.0f} "
        f"records/s of {len(VALUE)} bytes; ratio {ratio:.2f} (median of {pairs} pairs)"
    )


def our_seconds(bootstrap: str, topic: str, records: int) -> float:
    """Return how long `ps.Producer` takes until all is acknowledged."""
    with Producer(bootstrap) as producer:
        producer.send_and_wait(topic, VALUE)
        start = time.perf_counter()
        for number in range(records):
            producer.send(topic, VALUE, key=b"%d" % number)
        producer.flush()
        return time.perf_counter() - start


def bare_seconds(bootstrap: str, topic: str, records: int) -> float:
    """Return how long the bare client takes with the settings that `ps.Producer` has."""
    options = ProducerOptions(
        acks=Acks.ALL,
        compression=Compression.LZ4,
        linger_seconds=0.005,
        batch_bytes=60_000,
        buffer_records=100_000,
        buffer_bytes=64 * 1024 * 1024,
        block_seconds=60.0,
        delivery_timeout_seconds=120.0,
        max_record_bytes=1_000_000,
        spool_limit_bytes=1,
        spooled=False,
    )
    client = confluent_kafka.Producer(options.client_config(Connection(bootstrap=bootstrap)))
    delivered = 0

    def reported(error: object, _: object) -> None:
        nonlocal delivered
        delivered += error is None

    client.produce(topic, VALUE)
    client.flush()
    start = time.perf_counter()
    for number in range(records):
        while True:
            try:
                client.produce(topic, VALUE, b"%d" % number, on_delivery=reported)
                break
            except BufferError:
                client.poll(0.01)
        client.poll(0)
    client.flush()
    seconds = time.perf_counter() - start
    if delivered != records:
        sys.exit(f"only {delivered} of {records} records were delivered")
    return seconds


if __name__ == "__main__":
    main()
