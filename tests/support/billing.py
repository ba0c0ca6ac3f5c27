"""A billing worker as a program of its own, which the tests kill at chosen points.

It writes one row per record: the record's value and the name of the worker. `--kill-at` and
`--hang-after` end it inside the handler, after the row was written and before it returns.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import sys
import threading
from enum import StrEnum
from typing import Any

import psycopg

import penstock as ps
from penstock.kafka import Admin, Connection, TopicPartition, Worker, committed_offsets
from penstock.kafka.consumer.commits import EveryRecords
from penstock.names import GroupId
from support.waiting import eventually

LAST = b"last"
"""The value after which the worker ends by itself."""


class Commits(StrEnum):
    """How the row and the offset are committed."""

    SEPARATE = "separate"
    """The row in the database, then the offset in Kafka."""

    TOGETHER = "together"
    """Both in one transaction of the database."""


def connect(database: str) -> Any:  # noqa: ANN401 - one of two drivers
    """Connect to a PostgreSQL dsn (it has a `host=`) or to a SQLite file."""
    if "host=" in database:
        return psycopg.connect(database)
    return sqlite3.connect(database, timeout=30)


def ensure_bills(database: str) -> None:
    """Create the table that the worker writes to."""
    connection = connect(database)
    connection.execute("CREATE TABLE IF NOT EXISTS bills (content TEXT, worker TEXT)")
    connection.commit()
    connection.close()


def billed(database: str) -> list[str]:
    """Return the contents of all bills, in order; a record billed twice is there twice."""
    return sorted(_column(database, "content"))


def billers(database: str) -> list[str]:
    """Return the name of the worker for every bill."""
    return _column(database, "worker")


def _column(database: str, name: str) -> list[str]:
    connection = connect(database)
    rows = connection.execute(f"SELECT {name} FROM bills").fetchall()  # noqa: S608 - our own name
    connection.close()
    return [row[0] for row in rows]


class Billing:
    """The handler, with its two ways to commit and its ways to die."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._count = 0
        self.worker: Worker | None = None

    def bill_in(self, record: ps.Record, cursor: Any) -> None:  # noqa: ANN401 - of either driver
        """Write the row into the open transaction."""
        self._write(record, cursor)
        self._end_if_asked(record)

    def bill(self, record: ps.Record) -> None:
        """Write and commit the row; the offset follows later."""
        connection = connect(self._arguments.database)
        self._write(record, connection.cursor())
        connection.commit()
        connection.close()
        self._end_if_asked(record)

    def _write(self, record: ps.Record, cursor: Any) -> None:  # noqa: ANN401 - of either driver
        content = (record.value or b"").decode()
        mark = "%s" if "host=" in self._arguments.database else "?"
        cursor.execute(
            f"INSERT INTO bills VALUES ({mark}, {mark})",  # noqa: S608 - a mark, not a value
            (content, self._arguments.name),
        )

    def _end_if_asked(self, record: ps.Record) -> None:
        content = (record.value or b"").decode()
        if content == self._arguments.kill_at:
            if self._arguments.commits is Commits.SEPARATE:
                self._await_commit_of_earlier(record)
            os.kill(os.getpid(), signal.SIGKILL)
        self._count += 1
        if self._count == self._arguments.hang_after:
            threading.Event().wait()
        if record.value == LAST and self.worker is not None:
            self.worker.stop()

    def _await_commit_of_earlier(self, record: ps.Record) -> None:
        """Commits are on their way: without waiting, more than one record might come again."""
        partition = TopicPartition(record.topic, record.partition)
        group = GroupId(self._arguments.group)
        with Admin(Connection(bootstrap=self._arguments.bootstrap)) as admin:

            def is_committed() -> bool:
                found = committed_offsets(admin, [group])[group].get(partition)
                return found is not None and found.offset == record.offset

            eventually(is_committed, within_seconds=20)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Return the options of the program."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "group", "database"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--name", default="worker")
    parser.add_argument("--commits", type=Commits, default=Commits.TOGETHER)
    parser.add_argument("--kill-at")
    parser.add_argument("--hang-after", type=int)
    return parser.parse_args(arguments)


def main(arguments: argparse.Namespace) -> None:
    """Run the worker until it is told to end."""
    ensure_bills(arguments.database)
    billing = Billing(arguments)
    if arguments.commits is Commits.TOGETHER:
        store = ps.DatabaseOffsets(lambda: connect(arguments.database))
        billing.worker = ps.worker(
            arguments.topic, group=arguments.group, offsets=store, max_handling_seconds=6.0
        )(billing.bill_in)
    else:
        billing.worker = ps.worker(
            arguments.topic, group=arguments.group, commit=EveryRecords(1), max_handling_seconds=6.0
        )(billing.bill)
    billing.worker.run(arguments.bootstrap)


if __name__ == "__main__":
    main(parsed(sys.argv[1:]))
