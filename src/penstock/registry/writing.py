"""The one way to the log: a change is decided and written under a lock, one at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from penstock.registry.errors import TooLargeError
from penstock.registry.log import Log
from penstock.registry.records import Change, encode

MAX_RECORD_BYTES = 1_000_000
"""Of a value: brokers take a megabyte with key and framing unless they are told otherwise."""


class Writing:
    """Writes changes, and keeps the state still while one is decided."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = Lock()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else of this process write until the end of the block."""
        with self._lock:
            yield

    def append(self, changes: Sequence[Change]) -> None:
        """Write all changes or none; to be called while `alone`.

        Raises:
            TooLargeError: the log would not take a record of this size.
            StoreError: they were not written, or whether they were is not known.
            NotLeaderError: another instance writes.
        """
        records = [encode(change) for change in changes]
        if any(len(record.value or b"") > MAX_RECORD_BYTES for record in records):
            raise TooLargeError
        self._log.append(records)
