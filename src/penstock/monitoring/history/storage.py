"""The SQLite file of the history: its tables, how it is opened, and how it stays bounded.

There are three tiers: values as they came for hours, sums of minutes for a day, sums of ten
minutes for a week. A row says what a series was from then on; where there is no row, nothing has
changed. Rows are in chunks of time, the first part of their keys: what is written at one time is
on few pages, and old chunks are deleted as one range. In each chunk every living series has a row,
so that nobody looks back further than to the beginning of a chunk.

`session` tells from when to when somebody wrote: no value holds beyond.
"""

import fcntl
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from penstock.monitoring.catalog import Labels, MetricName
from penstock.monitoring.history.errors import HistoryInUseError, HistoryWriteError

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of the file, in `user_version`; 0 is a file that is new."""

_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """One table of rows, and how long it keeps them."""

    table: str
    resolution: int
    """How many seconds a row sums up; 1: it is a value as it came."""

    chunk: int
    """How many seconds of time are kept together."""

    kept: int
    """For how many seconds, at least."""

    def chunk_of(self, at: float) -> int:
        """Return the number of the chunk that holds a time."""
        return int(at // self.chunk)

    def floor(self, at: float) -> int:
        """Return when the row of a time begins."""
        return int(at // self.resolution) * self.resolution


RAW = Tier(table="raw", resolution=1, chunk=600, kept=3 * _HOUR)
MINUTES = Tier(table="minute", resolution=60, chunk=2 * _HOUR, kept=24 * _HOUR)
TENS = Tier(table="ten", resolution=600, chunk=12 * _HOUR, kept=7 * 24 * _HOUR)
TIERS = (RAW, MINUTES, TENS)
"""From fine to coarse."""

_TABLES = """
CREATE TABLE series (id INTEGER PRIMARY KEY, metric TEXT NOT NULL, labels TEXT NOT NULL);
CREATE TABLE session (began INTEGER PRIMARY KEY, until INTEGER NOT NULL);
CREATE TABLE raw (
    chunk INTEGER, series INTEGER, at INTEGER, value REAL,
    PRIMARY KEY (chunk, series, at)
) WITHOUT ROWID;
CREATE TABLE minute (
    chunk INTEGER, series INTEGER, at INTEGER,
    seconds REAL NOT NULL, mean REAL, low REAL, high REAL, last REAL, growth REAL NOT NULL,
    PRIMARY KEY (chunk, series, at)
) WITHOUT ROWID;
CREATE TABLE ten (
    chunk INTEGER, series INTEGER, at INTEGER,
    seconds REAL NOT NULL, mean REAL, low REAL, high REAL, last REAL, growth REAL NOT NULL,
    PRIMARY KEY (chunk, series, at)
) WITHOUT ROWID;
"""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file itself is broken, rather than the disk full or the folder closed."""
    # The lowest byte is the kind of an error, the others say which of that kind.
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGED


class HistoryFile:
    """The file, open for the one who writes; readers open it anew for each question."""

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path, self._max_bytes = path, max_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path)
        try:
            self.connection = self._opened()
        except sqlite3.Error as err:
            self._lock.close()
            raise HistoryWriteError(path, reason=str(err)) from err

    def close(self) -> None:
        """Close the file and let others write it."""
        self.connection.close()
        self._lock.close()

    def begin_anew(self, reason: str) -> None:
        """Set the file aside and go on with an empty one."""
        self.connection.close()
        self._set_aside(reason)
        self.connection = self._created()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that sees the file as it is at its first question."""
        connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(connection):
            connection.execute("BEGIN")
            yield connection

    def known_series(self) -> Iterator[tuple[int, MetricName, Labels]]:
        """Yield the series that have ever been written, with their numbers."""
        for number, metric, labels in self.connection.execute(
            "SELECT id, metric, labels FROM series"
        ):
            yield number, metric, tuple((label, value) for label, value in json.loads(labels))

    def add_series(self, number: int, metric: MetricName, labels: Labels) -> None:
        """Write down which series a number means."""
        self.connection.execute(
            "INSERT INTO series VALUES (?, ?, ?)", (number, metric, json.dumps(labels))
        )

    def add_rows(self, tier: Tier, rows: Iterable[Sequence[object]]) -> None:
        """Write rows of a tier: chunk, series, at, and the values."""
        marks = ", ".join("?" * (4 if tier is RAW else 9))
        self.connection.executemany(f"INSERT OR REPLACE INTO {tier.table} VALUES ({marks})", rows)  # noqa: S608 - a constant

    def add_session(self, began: int, until: int) -> None:
        """Write down that somebody wrote without a gap from `began` to `until`."""
        self.connection.execute(
            "INSERT INTO session VALUES (?, ?) ON CONFLICT (began) DO UPDATE SET until = ?",
            (began, until, until),
        )

    def prune(self, now: int) -> None:
        """Delete what is older than its tier keeps, and more where the file has grown too large.

        What is finest goes first: it is the most, and hours of it are worth less than a week.
        """
        for tier in TIERS:
            self._delete_before(tier, tier.chunk_of(now - tier.kept))
        for tier in TIERS:
            while self._used_bytes() > self._max_bytes:
                oldest = self._oldest_chunk(tier)
                if oldest is None or oldest >= tier.chunk_of(now):
                    break
                self._delete_before(tier, oldest + 1)
        self.connection.execute(
            "DELETE FROM session WHERE until < ?", (now - TENS.kept - TENS.chunk,)
        )

    def forget_series(self, living: Iterable[int]) -> list[int]:
        """Delete the series that no tier has a row of, except `living`; return their numbers."""
        kept = set(living)
        for tier in TIERS:
            rows = self.connection.execute(f"SELECT DISTINCT series FROM {tier.table}")  # noqa: S608 - a constant
            kept.update(number for (number,) in rows)
        known = [number for (number,) in self.connection.execute("SELECT id FROM series")]
        gone = [number for number in known if number not in kept]
        self.connection.executemany("DELETE FROM series WHERE id = ?", [(x,) for x in gone])
        return gone

    def _oldest_chunk(self, tier: Tier) -> int | None:
        return oldest_chunk(self.connection, tier)

    def _delete_before(self, tier: Tier, chunk: int) -> None:
        self.connection.execute(f"DELETE FROM {tier.table} WHERE chunk < ?", (chunk,))  # noqa: S608 - a constant

    def _used_bytes(self) -> int:
        pages, free, size = (
            int(self.connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def _opened(self) -> sqlite3.Connection:
        if not self.path.exists():
            return self._created()
        connection = _connected(self.path)
        try:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version == FORMAT:
                _configure(connection)
                connection.execute("SELECT count(*) FROM series, session LIMIT 1")
                return connection
        except sqlite3.Error as err:
            connection.close()
            if not is_damage(err) and isinstance(err, sqlite3.OperationalError):
                raise
            self._set_aside(str(err))
            return self._created()
        connection.close()
        self._set_aside(f"its format is {version}, this Penstock writes {FORMAT}")
        return self._created()

    def _created(self) -> sqlite3.Connection:
        connection = _connected(self.path)
        _configure(connection)
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")
        return connection

    def _set_aside(self, reason: str) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        aside = self.path.with_name(f"{self.path.name}.{stamp}.aside")
        self.path.rename(aside)
        self.path.with_name(f"{self.path.name}-shm").unlink(missing_ok=True)
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.exists():
            log.rename(aside.with_name(f"{aside.name}-wal"))
        logger.warning(
            "the history of metrics begins anew: the old file cannot be used and is set aside",
            extra={"path": str(aside), "reason": reason},
        )


def oldest_chunk(connection: sqlite3.Connection, tier: Tier) -> int | None:
    """Return the first chunk that a tier holds; None when it is empty."""
    found = connection.execute(f"SELECT min(chunk) FROM {tier.table}").fetchone()[0]  # noqa: S608 - a constant
    return None if found is None else int(found)


def _connected(path: Path) -> sqlite3.Connection:
    # One thread writes at a time, but not always the one that opened the file. Transactions are
    # begun by whoever writes.
    return sqlite3.connect(path, timeout=1, check_same_thread=False, isolation_level=None)


def _configure(connection: sqlite3.Connection) -> None:
    # Readers and the one who writes do not wait for each other.
    connection.execute("PRAGMA journal_mode = WAL")
    # Loses the last rounds when the machine loses power, and never the file.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")


def _locked(path: Path) -> IO[bytes]:
    file = path.with_name(path.name + ".lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as err:
        file.close()
        raise HistoryInUseError(path) from err
    return file
