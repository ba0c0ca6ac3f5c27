"""How fast a registry with 1,400 subjects of 10 versions each starts, and how fast it answers.

A broker of its own and `penstock registry serve` as a process of its own, asked over one HTTP
connection. Folding the records alone is measured in this process, without Kafka.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bench.machine import describe_machine

from penstock.kafka import Producer
from penstock.kafka.admin import Admin
from penstock.kafka.schemas_log.topic import ensure_schemas_topic
from penstock.local.cluster import KafkaCluster
from penstock.names import Subject, TopicName
from penstock.registry.entries import Content, SchemaVersion
from penstock.registry.records import encode
from penstock.registry.state import RegistryState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.registry.log import Record

TOPIC = TopicName("_schemas")
SUBJECTS = 1_400
VERSIONS = 10
LOOK_UPS = 5_000
LISTINGS = 20
STARTS = 3

PENSTOCK = str(Path(sys.executable).with_name("penstock"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One measured time and what it must not exceed."""

    what: str
    milliseconds: float
    limit: float

    def __str__(self) -> str:
        """Return the line that is printed."""
        verdict = "ok" if self.milliseconds <= self.limit else "too slow"
        return f"{self.what:<52} {self.milliseconds:8.1f} ms  (limit {self.limit:g} ms: {verdict})"


def main() -> int:
    """Measure, and compare with the limits."""
    print(describe_machine())
    records = [record for number in range(SUBJECTS) for record in records_of(number)]
    size = sum(len(record.value or b"") for record in records)
    print(f"{len(records):,} versions of {SUBJECTS:,} subjects, {size / 1e6:.1f} MB")
    results = [fold(records)]
    with (
        TemporaryDirectory() as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder)) as kafka,
    ):
        fill(kafka, records)
        results += ask(kafka)
    for result in results:
        print(result)
    return 0 if all(result.milliseconds <= result.limit for result in results) else 1


def records_of(number: int) -> list[Record]:
    """Return the versions of one subject: each has a field more than the one before."""
    subject = Subject(f"team{number % 40}.topic-{number}-value")
    return [
        encode(
            SchemaVersion(
                subject=subject,
                version=version,
                id=number * VERSIONS + version,
                content=Content(text=schema(number, fields=5 + version)),
            )
        )
        for version in range(1, VERSIONS + 1)
    ]


def schema(number: int, *, fields: int) -> str:
    """Return an Avro record."""
    names = [f"field_{number}_{position}" for position in range(fields)]
    return json.dumps(
        {
            "type": "record",
            "name": f"Event{number}",
            "namespace": "bench.events",
            "fields": [
                {"name": name, "type": ["null", "string"], "default": None} for name in names
            ],
        },
        separators=(",", ":"),
    )


def fold(records: list[Record]) -> Result:
    """Return how long the state takes to fold all records, the slowest of several times."""
    times = []
    for _ in range(STARTS):
        state = RegistryState()
        started = time.perf_counter()
        for offset, record in enumerate(records):
            state.apply(record, offset)
        times.append(time.perf_counter() - started)
    return Result(what="fold all records", milliseconds=max(times) * 1000, limit=1_500)


def fill(kafka: KafkaCluster, records: list[Record]) -> None:
    """Write the records to the topic."""
    ensure_schemas_topic(Admin(kafka.connection), TOPIC)
    with Producer(kafka.connection) as producer:
        for record in records:
            producer.send(TOPIC, record.value, key=record.key)


def ask(kafka: KafkaCluster) -> list[Result]:
    """Start the registry several times, and ask the last one."""
    starts = []
    for _ in range(STARTS - 1):
        started = time.perf_counter()
        with serving(kafka):
            starts.append(time.perf_counter() - started)
    started = time.perf_counter()
    with serving(kafka) as connection:
        starts.append(time.perf_counter() - started)
        start = Result(
            what="start until the first answer, slowest",
            milliseconds=max(starts) * 1000,
            limit=3_000,
        )
        return [start, *answers(connection)]


@contextmanager
def serving(kafka: KafkaCluster) -> Iterator[HTTPConnection]:
    """Run a registry; yield a connection to it when it has answered for the last id."""
    command = [PENSTOCK, "registry", "serve", "--port", "0", "--bootstrap", kafka.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101  # for the type checker: a pipe
            address = process.stdout.readline().split(" at ")[1].split(";")[0]
            connection = HTTPConnection(urlsplit(address).netloc)
            asked(connection, f"/schemas/ids/{SUBJECTS * VERSIONS}")
            yield connection
        finally:
            process.terminate()


def answers(connection: HTTPConnection) -> list[Result]:
    """Return how long look-ups and lists take."""
    ids = random.Random(1)  # noqa: S311  # which ids are asked for is no secret
    look_ups = timed(
        LOOK_UPS, lambda: asked(connection, f"/schemas/ids/{ids.randint(1, SUBJECTS * VERSIONS)}")
    )
    subjects = timed(LISTINGS, lambda: asked(connection, "/subjects"))
    latest = timed(LISTINGS, lambda: asked(connection, "/schemas?latestOnly=true"))
    return [
        Result(what="look-up by id, median", milliseconds=statistics.median(look_ups), limit=5),
        Result(
            what=f"look-up by id, p99 of {LOOK_UPS:,}",
            milliseconds=statistics.quantiles(look_ups, n=100)[-1],
            limit=5,
        ),
        Result(what="list of subjects, slowest", milliseconds=max(subjects), limit=200),
        Result(what="first 1,000 latest schemas, slowest", milliseconds=max(latest), limit=200),
    ]


def timed(count: int, act: Callable[[], object]) -> list[float]:
    """Return the milliseconds of `count` calls."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        act()
        times.append((time.perf_counter() - started) * 1000)
    return times


def asked(connection: HTTPConnection, path: str) -> bytes:
    """Return the body of an answer."""
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        sys.exit(f"{path} was answered with {response.status}: {body.decode()}")
    return body


if __name__ == "__main__":
    sys.exit(main())
