"""The contract of offset stores, on every database that `DatabaseOffsets` speaks to."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.kafka.offsets import TopicPartition
from penstock.kafka.workers.stored_offsets import (
    DatabaseConnection,
    DatabaseCursor,
    DatabaseOffsets,
    NoTransactionsError,
    OffsetMovedError,
    UnsupportedDatabaseError,
)
from penstock.names import GroupId, Offset, Partition, TopicName

Connect = Callable[[], DatabaseConnection[DatabaseCursor]]

GROUP = GroupId("billing")
ORDERS = TopicPartition(TopicName("orders"), Partition(0))


@pytest.fixture(params=["sqlite", "postgres"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """How to reach an empty database with a table `bills`."""
    if request.param == "sqlite":
        path = tmp_path / "bills.db"
        made: Connect = lambda: sqlite3.connect(path)  # noqa: E731 - as users write it
    else:
        dsn: str = request.getfixturevalue("postgres_dsn")
        made = lambda: psycopg.connect(dsn)  # noqa: E731 - as users write it
    rows(made, "CREATE TABLE bills (amount INTEGER)")
    return made


@pytest.fixture
def store(connect: Connect) -> Iterator[DatabaseOffsets[DatabaseCursor]]:
    opened = DatabaseOffsets(connect)
    opened.open()
    yield opened
    opened.close()


def rows(connect: Connect, statement: str) -> list[Any]:
    """Run `statement` on a connection of its own, as another client sees the database."""
    connection = connect()
    cursor = connection.cursor()
    cursor.execute(statement)
    found = cursor.fetchall() if statement.startswith("SELECT") else []  # type: ignore[attr-defined]  # all drivers have it
    connection.commit()
    connection.close()
    return [row[0] for row in found]


def bill(store: DatabaseOffsets[DatabaseCursor], amount: int, *, expected: int) -> None:
    with store.transaction(
        GROUP, ORDERS, expected=Offset(expected), following=Offset(expected + 1)
    ) as cursor:
        cursor.execute(f"INSERT INTO bills VALUES ({amount})")  # noqa: S608 - a number of ours


def test_the_first_offset_is_stored_once(store: DatabaseOffsets[DatabaseCursor]) -> None:
    found = [store.ensure_stored(GROUP, ORDERS, start=Offset(start)) for start in (5, 9)]
    assert found == [5, 5]


def test_results_and_offset_appear_together(
    store: DatabaseOffsets[DatabaseCursor], connect: Connect
) -> None:
    store.ensure_stored(GROUP, ORDERS, start=Offset(0))
    bill(store, 10, expected=0)
    assert rows(connect, "SELECT amount FROM bills") == [10]
    assert rows(connect, "SELECT next_offset FROM penstock_offsets") == [1]


def test_a_failing_block_leaves_neither(
    store: DatabaseOffsets[DatabaseCursor], connect: Connect
) -> None:
    store.ensure_stored(GROUP, ORDERS, start=Offset(0))

    def write_and_fail() -> None:
        with store.transaction(GROUP, ORDERS, expected=Offset(0), following=Offset(1)) as cursor:
            cursor.execute("INSERT INTO bills VALUES (10)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()

    assert rows(connect, "SELECT amount FROM bills") == []
    assert store.ensure_stored(GROUP, ORDERS, start=Offset(9)) == 0


def test_a_worker_that_lost_its_partition_writes_nothing(
    store: DatabaseOffsets[DatabaseCursor], connect: Connect
) -> None:
    """Both read offset 0; the successor handles the record first."""
    successor = DatabaseOffsets(connect)
    successor.open()
    started = [each.ensure_stored(GROUP, ORDERS, start=Offset(0)) for each in (store, successor)]
    bill(successor, 10, expected=0)
    successor.close()

    with pytest.raises(OffsetMovedError) as caught:
        bill(store, 10, expected=0)

    assert started == [0, 0]
    assert (caught.value.partition, caught.value.expected) == (ORDERS, 0)
    assert rows(connect, "SELECT amount FROM bills") == [10]
    assert store.ensure_stored(GROUP, ORDERS, start=Offset(0)) == 1


def test_groups_and_partitions_have_offsets_of_their_own(
    store: DatabaseOffsets[DatabaseCursor],
) -> None:
    other = TopicPartition(ORDERS.topic, Partition(1))
    stored = [
        store.ensure_stored(GROUP, ORDERS, start=Offset(1)),
        store.ensure_stored(GroupId("audit"), ORDERS, start=Offset(2)),
        store.ensure_stored(GROUP, other, start=Offset(3)),
    ]
    assert stored == [1, 2, 3]


def test_two_workers_may_open_the_same_empty_database_at_once(connect: Connect) -> None:
    stores = [DatabaseOffsets(connect) for _ in range(4)]
    faults: list[Exception] = []

    def open_and_close(store: DatabaseOffsets[DatabaseCursor]) -> None:
        try:
            store.open()
            store.close()
        except (sqlite3.Error, psycopg.Error) as fault:
            faults.append(fault)

    threads = [threading.Thread(target=open_and_close, args=(each,)) for each in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    assert rows(connect, "SELECT COUNT(*) FROM penstock_offsets") == [0]


def test_a_lost_connection_is_replaced_on_the_next_attempt(postgres_dsn: str) -> None:
    connections: list[psycopg.Connection[tuple[Any, ...]]] = []

    def connect() -> psycopg.Connection[tuple[Any, ...]]:
        connections.append(psycopg.connect(postgres_dsn))
        return connections[-1]

    store = DatabaseOffsets(connect)
    store.open()
    store.ensure_stored(GROUP, ORDERS, start=Offset(0))
    connections[0].close()
    with (
        pytest.raises(psycopg.OperationalError),
        store.transaction(GROUP, ORDERS, expected=Offset(0), following=Offset(1)),
    ):
        pass

    assert store.ensure_stored(GROUP, ORDERS, start=Offset(9)) == 0
    store.close()
    assert len(connections) == 2


@pytest.mark.parametrize("driver", ["sqlite", "postgres"])
def test_a_connection_without_transactions_is_refused(
    driver: str, tmp_path: Path, postgres_dsn: str
) -> None:
    def connect() -> Any:  # noqa: ANN401 - the point is that both drivers are looked at
        if driver == "sqlite":
            return sqlite3.connect(tmp_path / "x.db", isolation_level=None)
        return psycopg.connect(postgres_dsn, autocommit=True)

    with pytest.raises(NoTransactionsError):
        DatabaseOffsets(connect).open()


def test_a_driver_with_another_parameter_style_is_refused() -> None:
    class Connection:
        """A connection whose driver, this module, says nothing of a parameter style."""

        def close(self) -> None:
            """Nothing is held."""

    made: Any = Connection
    with pytest.raises(UnsupportedDatabaseError):
        DatabaseOffsets(made).open()


def test_a_table_name_is_a_name() -> None:
    with pytest.raises(UnsupportedDatabaseError):
        DatabaseOffsets(lambda: sqlite3.connect(":memory:"), table="x; DROP TABLE bills")
