"""Offsets kept in a database, so that a record's results and its offset commit together.

A worker that commits offsets to Kafka after it has written to a database repeats, after a crash,
what it wrote since the last commit. When the offset is a row of the same database, written in the
same transaction, there is no moment between the two. `OffsetStore` is the contract that the worker
relies on; `DatabaseOffsets` fulfills it for PEP 249 connections with SQLite's and PostgreSQL's SQL.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from penstock.errors import PenstockError, UsageError
from penstock.names import GroupId, Offset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from penstock.kafka.offsets import TopicPartition

DEFAULT_TABLE = "penstock_offsets"

Transaction = TypeVar("Transaction")
Transaction_co = TypeVar("Transaction_co", covariant=True)


class OffsetMovedError(PenstockError):
    """The stored offset is not the one this worker left: another worker has the partition."""

    code = "PEN-491"
    retryable = True

    def __init__(self, partition: TopicPartition, *, group: GroupId, expected: Offset) -> None:
        super().__init__(
            f"the stored offset of `{partition}` for group `{group}` is no longer {expected}: "
            "another worker has moved it",
            hint="nothing was written; the worker goes on from the stored offset",
        )
        self.partition = partition
        self.expected = expected


class NoTransactionsError(UsageError):
    """The database connection commits every statement by itself."""

    code = "PEN-492"

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"the `{kind}` connection commits each statement by itself, so results and offsets "
            "cannot commit together",
            hint="open the connection with autocommit off: for sqlite3 without "
            "`isolation_level=None`, for psycopg without `autocommit=True`",
        )


class UnsupportedDatabaseError(UsageError):
    """The database driver or the name of the table cannot be used for offsets."""

    code = "PEN-493"

    def __init__(self, *, reason: str) -> None:
        super().__init__(
            f"offsets cannot be stored there: {reason}",
            hint="use sqlite3 or psycopg, or implement `penstock.kafka.OffsetStore`",
        )


class OffsetStore(Protocol[Transaction_co]):
    """Where a worker keeps its offsets when results and offsets shall commit together.

    The worker calls all methods from the one thread that runs it, in this order: `open` once, then
    for each partition it is assigned `ensure_stored` once per assignment, then `transaction` once
    per attempt at a record, and `close` once, whatever happened.

    What may be repeated after a crash: the transaction of the record in hand, and only that one.
    If the process dies before the database has committed, neither results nor offset are there and
    the record is handled again. If it dies after, the stored offset already points behind it.

    The usual mistakes: committing inside the handler (the results are then there without the
    offset), effects outside the transaction (mails, other topics: they are at least once), and an
    unconditional write of the offset, which lets a worker that has lost its partition without
    knowing it overwrite the work of its successor.
    """

    def open(self) -> None:
        """Connect and create what is missing. Safe to repeat, also by two workers at once."""

    def ensure_stored(self, group: GroupId, partition: TopicPartition, *, start: Offset) -> Offset:
        """Return the offset to read next; store `start` when none is stored yet.

        When two workers call it at once, both return the same offset.
        """

    def transaction(
        self, group: GroupId, partition: TopicPartition, *, expected: Offset, following: Offset
    ) -> AbstractContextManager[Transaction_co]:
        """Run the block in one transaction that also moves the stored offset.

        The stored offset is compared with `expected` and set to `following` before the block runs
        and becomes visible with the block's writes, when the block ends. An exception in the block
        rolls back everything.

        Raises:
            OffsetMovedError: the stored offset is not `expected`. The block did not run.
        """

    def close(self) -> None:
        """Let go of the connection; an open transaction is rolled back."""


class DatabaseCursor(Protocol):
    """What is used of a PEP 249 cursor."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed."""

    def execute(self, query: Any, params: Any = ..., /) -> object:  # noqa: ANN401 - drivers differ
        """Run one statement."""

    def fetchone(self) -> Any:  # noqa: ANN401 - drivers differ
        """Return the next row, or None."""

    def close(self) -> None:
        """Let go of the result."""


Cursor = TypeVar("Cursor", bound=DatabaseCursor)
Cursor_co = TypeVar("Cursor_co", bound=DatabaseCursor, covariant=True)


class DatabaseConnection(Protocol[Cursor_co]):
    """What is used of a PEP 249 connection."""

    def cursor(self) -> Cursor_co:
        """Return a cursor on the connection's transaction."""

    def commit(self) -> None:
        """Make the transaction's writes visible."""

    def rollback(self) -> None:
        """Forget the transaction's writes."""

    def close(self) -> None:
        """End the connection."""


class DatabaseOffsets(OffsetStore[Cursor]):
    """Offsets in a table of the database that the handler writes to.

    `DatabaseOffsets(lambda: sqlite3.connect("billing.db"))` is enough; for PostgreSQL pass
    `lambda: psycopg.connect(dsn)`. The handler receives a cursor of the open transaction. The
    offset's row is written first, which also locks it: of two workers that both believe they own
    a partition, one handles the record and the other finds the offset moved.

    After a failed transaction the connection is tried again; one that no longer works is replaced
    on the next attempt.
    """

    def __init__(
        self, connect: Callable[[], DatabaseConnection[Cursor]], *, table: str = DEFAULT_TABLE
    ) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", table):
            raise UnsupportedDatabaseError(reason=f"`{table}` is not a plain table name")
        self._connect = connect
        self._table = table
        self._connection: DatabaseConnection[Cursor] | None = None
        self._mark = "?"
        self._driver_error: type[Exception] = Exception

    def open(self) -> None:
        """Connect and create the table when it is absent."""
        self._connected()
        try:
            self._ensure_table()
        except self._driver_error:
            # PostgreSQL lets one of two workers that create the table at once fail.
            self._ensure_table()

    def _ensure_table(self) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} ("
                "group_id TEXT NOT NULL, topic TEXT NOT NULL, partition_id INTEGER NOT NULL, "
                "next_offset BIGINT NOT NULL, PRIMARY KEY (group_id, topic, partition_id))"
            )

    def ensure_stored(self, group: GroupId, partition: TopicPartition, *, start: Offset) -> Offset:
        """Return the stored offset; store `start` when there is none."""
        row = (group, partition.topic, partition.partition)
        with self._cursor() as cursor:
            cursor.execute(
                self._sql("INSERT INTO {table} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"),
                (*row, start),
            )
            cursor.execute(
                self._sql(
                    "SELECT next_offset FROM {table} "
                    "WHERE group_id = ? AND topic = ? AND partition_id = ?"
                ),
                row,
            )
            return Offset(cursor.fetchone()[0])

    @contextmanager
    def transaction(
        self, group: GroupId, partition: TopicPartition, *, expected: Offset, following: Offset
    ) -> Iterator[Cursor]:
        """Move the stored offset and run the block in one transaction."""
        with self._cursor() as cursor:
            cursor.execute(
                self._sql(
                    "UPDATE {table} SET next_offset = ? WHERE group_id = ? AND topic = ? "
                    "AND partition_id = ? AND next_offset = ?"
                ),
                (following, group, partition.topic, partition.partition, expected),
            )
            if cursor.rowcount != 1:
                raise OffsetMovedError(partition, group=group, expected=expected)
            yield cursor

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        connection = self._connected()
        try:
            cursor = connection.cursor()
            yield cursor
            cursor.close()
            connection.commit()
        except BaseException:
            self._roll_back(connection)
            raise

    def _connected(self) -> DatabaseConnection[Cursor]:
        if self._connection is None:
            connection = self._connect()
            try:
                self._learn_driver(connection)
            except UsageError:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _learn_driver(self, connection: DatabaseConnection[Cursor]) -> None:
        _require_transactions(connection)
        self._mark = _parameter_mark(connection)
        self._driver_error = sys.modules[_driver_of(connection)].Error

    def _roll_back(self, connection: DatabaseConnection[Cursor]) -> None:
        """Forget the transaction. A connection that cannot even do that is of no further use."""
        try:
            connection.rollback()
        except self._driver_error:
            self._connection = None

    def _sql(self, statement: str) -> str:
        return statement.replace("?", self._mark).format(table=self._table)


def _driver_of(connection: object) -> str:
    return type(connection).__module__.split(".")[0]


def _parameter_mark(connection: object) -> str:
    """Return how the connection's driver marks a parameter; PEP 249 has it say so."""
    driver = _driver_of(connection)
    style = getattr(sys.modules[driver], "paramstyle", None)
    if style == "qmark":
        return "?"
    if style in ("format", "pyformat"):
        return "%s"
    raise UnsupportedDatabaseError(reason=f"`{driver}` has the parameter style `{style}`")


def _require_transactions(connection: object) -> None:
    implicit = isinstance(connection, sqlite3.Connection) and connection.isolation_level is None
    if implicit or getattr(connection, "autocommit", False) is True:
        raise NoTransactionsError(_driver_of(connection))
