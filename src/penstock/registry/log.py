"""The log behind the registry: records of `_schemas`, and what a writer of them promises.

The registry decides on its folded state what to write; a `Log` makes that durable. On Kafka it is
`registry/storage.py`; what is in the records is `registry/records.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of the log; without a value, the key is deleted."""

    key: bytes
    value: bytes | None


class Log(Protocol):
    """Where the registry's records are kept, in one order for all its instances."""

    def append(self, records: Sequence[Record]) -> None:
        """Write all of `records` or none of them, and return once the state has folded them.

        Called by one thread at a time, under the registry's lock: whoever implements it must not
        call back into the registry's writes.

        Raises:
            StoreError: they were not written, or whether they were is not known.
            NotLeaderError: another instance writes; nothing was written.
        """
        ...
