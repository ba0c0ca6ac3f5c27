"""The programs in `docs/workers.md` run as they are printed."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from penstock.kafka import Producer, Worker
from support.waiting import eventually

if TYPE_CHECKING:
    from penstock.local.cluster import KafkaCluster

PAGE = Path(__file__).parents[3] / "docs" / "workers.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def adapted(program: str, kafka: KafkaCluster, dsn: str) -> str:
    """Return `program` with this test's cluster, topics, group and database."""
    topic = f"orders-{uuid4().hex}"
    for name in (topic, f"{topic}.dead"):
        kafka.create_topic(name, partition_count=1)
    with Producer(kafka.connection) as producer:
        producer.send(topic, "one")
        producer.send(topic, "two")
    return (
        program.replace("127.0.0.1:9092", kafka.bootstrap)
        .replace('"orders', f'"{topic}')
        .replace('"billing"', f'"group-{uuid4().hex}"')
        .replace("dbname=billing", dsn)
    )


def bills(dsn: str) -> list[bytes]:
    with psycopg.connect(dsn) as database:
        in_postgres = database.execute("SELECT content FROM bills").fetchall()
    database_file = sqlite3.connect("billing.db")
    in_sqlite = database_file.execute("SELECT content FROM bills").fetchall()
    database_file.close()
    return [bytes(row[0]) for row in [*in_postgres, *in_sqlite]]


@pytest.mark.parametrize("number", [0, 1, 2], ids=["plain", "sqlite", "postgres"])
def test_a_program_of_the_page_handles_two_records(
    number: int,
    kafka: KafkaCluster,
    postgres_dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    database_file = sqlite3.connect("billing.db")
    database_file.execute("CREATE TABLE bills (content BLOB)")
    database_file.close()
    with psycopg.connect(postgres_dsn) as database:
        database.execute("CREATE TABLE bills (content BYTEA)")
    names: dict[str, object] = {"__name__": "page"}

    def stop_after_two() -> None:
        eventually(lambda: handled(names) == 2, within_seconds=30)
        worker = names["bill"]
        assert isinstance(worker, Worker)
        worker.stop()

    stopper = threading.Thread(target=stop_after_two)
    stopper.start()
    exec(adapted(PROGRAMS[number], kafka, postgres_dsn), names)  # noqa: S102 - our own page
    stopper.join()

    printed = capsys.readouterr().out
    if number == 0:
        assert printed == "0 b'one'\n1 b'two'\n"
    else:
        assert (printed, bills(postgres_dsn)) == ("", [b"one", b"two"])
    assert len(PROGRAMS) == 3


def handled(names: dict[str, object]) -> int:
    worker = names.get("bill")
    return worker.health().handled if isinstance(worker, Worker) else 0
