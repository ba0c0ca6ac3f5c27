"""How fast records of Protobuf become columns, beside a plain consumer in Python.

    python -m bench.protobuf [--records 300000] [--pairs 5]

Twice: decoding alone, of bytes in memory in one process; and from a topic of four partitions, by a
consumer that polls record by record, and by Spark with two task slots into the void. The consumer
takes the prefix off, parses the message with `ParseFromString` and reads every field. Spark's time
is that of one batch without the start of Spark, whose Python has run once before.

There is no limit: the Arrow batches do what the loop does and build columns besides.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pyarrow as pa
from bench.machine import describe_machine
from google.protobuf.message_factory import GetMessageClass

from penstock.engine import SparkDriver, open_session, session_options
from penstock.engine.contracts.protobuf.decoder import record_reader
from penstock.engine.contracts.wire import prefix_of
from penstock.engine.decoding import good_records
from penstock.engine.kafka_options import kafka_options
from penstock.engine.kafka_source import raw_range
from penstock.errors import Origin
from penstock.local.cluster import KafkaCluster
from penstock.names import DatasetName, Subject, TopicName
from penstock.pipeline import Contract, Protobuf, Topic, WriterSchema
from penstock.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ORDER = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1; string customer = 2; google.protobuf.Timestamp at = 3;
  enum State { NEW = 0; PAID = 1; SENT = 2; }
  State state = 4; optional string coupon = 5; double total = 6;
  message Line { string sku = 1; int32 count = 2; double price = 3; }
  repeated Line lines = 7;
}
"""
SCHEMA = WriterSchema(id=7, text=ORDER)
CONTRACT = Contract(
    format=Protobuf(),
    subject=Subject("orders-value"),
    is_key=False,
    reader=SCHEMA,
    columns="",
    writers=(SCHEMA,),
)
HEAD = prefix_of(SCHEMA.id) + b"\x00"
BATCH = 10_000
"""As many records as Spark hands to Python at a time."""

PARTITIONS = 4


def main() -> int:
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--pairs", type=int, default=5)
    chosen = parser.parse_args()
    print(describe_machine())
    values = orders(chosen.records)
    print(f"{len(values):,} records of {statistics.mean(map(len, values)):.0f} bytes on average")
    compare("decoding alone", chosen.pairs, lambda: loop_rate(values), lambda: batch_rate(values))
    with (
        TemporaryDirectory() as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder) / "kafka") as kafka,
        spark_driver(Path(folder)) as driver,
    ):
        topic = kafka.create_topic("orders", partition_count=PARTITIONS)
        fill(kafka, topic, values)
        spark_rate(driver, kafka, topic, len(values))
        compare(
            "from a topic",
            chosen.pairs,
            lambda: consumer_rate(kafka, topic, len(values)),
            lambda: spark_rate(driver, kafka, topic, len(values)),
        )
    return 0


def compare(what: str, pairs: int, plain: Callable[[], float], ours: Callable[[], float]) -> None:
    """Measure both in turn, so that a busy machine slows both."""
    rates = [(plain(), ours()) for _ in range(pairs)]
    ratio = statistics.median(our / their for their, our in rates)
    loop, batches = (statistics.median(column) for column in zip(*rates, strict=True))
    print(
        f"{what:<15} plain loop {loop:>9,.0f}   Arrow batches {batches:>9,.0f} records/s   "
        f"ratio {ratio:.2f}"
    )


def orders(count: int) -> list[bytes]:
    """Return records as a producer with a registry writes them."""
    kind = order_class()
    return [HEAD + order(kind, number).SerializeToString() for number in range(count)]


def order(kind: type[Any], number: int) -> Any:  # noqa: ANN401 - a class that is made at run time
    """Return an order with one to three lines."""
    lines = [
        {"sku": f"sku-{number % 997}-{line}", "count": line + 1, "price": 1.5 * line}
        for line in range(number % 3 + 1)
    ]
    return kind(
        id=number,
        customer=f"customer-{number % 10_007}",
        at={"seconds": 1_700_000_000 + number, "nanos": 1_000_000},
        state=number % 3,
        coupon="SPRING" if number % 5 == 0 else None,
        total=number / 7,
        lines=lines,
    )


def order_class() -> type[Any]:
    """Return the class of an order."""
    records, _ = record_reader(CONTRACT)
    return GetMessageClass(records.reader.descriptor())


def decoder() -> Callable[[bytes], tuple[object, ...]]:
    """Return what a plain consumer does with each value."""
    kind = order_class()

    def decoded(value: bytes) -> tuple[object, ...]:
        if value[:6] != HEAD:
            sys.exit("a record of another schema")
        one = kind()
        one.ParseFromString(value[6:])
        coupon = one.coupon if one.HasField("coupon") else None
        lines = [(line.sku, line.count, line.price) for line in one.lines]
        at = (one.at.seconds, one.at.nanos)
        return one.id, one.customer, at, one.state, coupon, one.total, lines

    return decoded


def loop_rate(values: Sequence[bytes]) -> float:
    """Return the records per second that a loop decodes."""
    decoded = decoder()
    start = time.perf_counter()
    for value in values:
        decoded(value)
    return len(values) / (time.perf_counter() - start)


def batch_rate(values: Sequence[bytes]) -> float:
    """Return the records per second that batches of Arrow decode, in this process."""
    records, _ = record_reader(CONTRACT)
    batches = [pa.array(values[at : at + BATCH]) for at in range(0, len(values), BATCH)]
    start = time.perf_counter()
    decoded: int = sum(len(batch) - records.read(batch).field(0).null_count for batch in batches)
    seconds = time.perf_counter() - start
    if decoded != len(values):
        sys.exit(f"{decoded} of {len(values)} records were decoded")
    return decoded / seconds


def fill(kafka: KafkaCluster, topic: TopicName, values: Sequence[bytes]) -> None:
    """Write all values to the topic."""
    client = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap, "linger.ms": 50, "enable.idempotence": True}
    )
    for number, value in enumerate(values):
        while True:
            try:
                client.produce(topic, value, partition=number % PARTITIONS)
                break
            except BufferError:
                client.poll(0.1)
    if client.flush(60):
        sys.exit("not all records were written")


def consumer_rate(kafka: KafkaCluster, topic: TopicName, count: int) -> float:
    """Return the records per second of a consumer that polls and decodes one by one."""
    decoded = decoder()
    client = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "bench", "enable.auto.commit": False}
    )
    client.assign([confluent_kafka.TopicPartition(topic, at, 0) for at in range(PARTITIONS)])
    start = time.perf_counter()
    for _ in range(count):
        record = client.poll(30)
        value = record.value() if record is not None else None
        if value is None:
            sys.exit("a record is missing")
        decoded(value)
    seconds = time.perf_counter() - start
    client.close()
    return count / seconds


def spark_driver(folder: Path) -> SparkDriver:
    """Return Spark with two task slots, as pipelines have it."""
    overrides = {"spark.master": "local[2]", "spark.warehouse": str(folder / "tables")}
    settings = load_settings(overrides, start=folder)
    options = session_options(settings, app_name="bench", log_file=folder / "spark.log")
    return open_session(options)


def spark_rate(driver: SparkDriver, kafka: KafkaCluster, topic: TopicName, count: int) -> float:
    """Return the records per second of a flow's reading, all columns, into the void."""
    declared = Topic(
        name=DatasetName("orders"),
        kafka_name=topic,
        value=CONTRACT,
        origin=Origin(Path(__file__)),
    )
    raw = raw_range(driver.session(), declared, kafka_options(kafka.connection))
    start = time.perf_counter()
    good_records(raw, declared).write.format("noop").mode("overwrite").save()
    return count / (time.perf_counter() - start)


if __name__ == "__main__":
    sys.exit(main())
