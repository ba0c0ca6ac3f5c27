"""The registry's log on Kafka: what the leader decides is appended, and all instances fold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka import ClusterUnreachableError, RecordTooLargeError, RequestTimedOutError
from penstock.kafka.schemas_log import FencedError, LogRecord, SchemasLog
from penstock.registry.election import deciding_in
from penstock.registry.errors import NotLeaderError, StoreError, StoreTimeoutError, TooLargeError
from penstock.registry.log import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import Connection
    from penstock.names import Offset, TopicName
    from penstock.registry.election import Election
    from penstock.registry.state import RegistryState

# A commit takes milliseconds; a broker that restarts is back by then.
_APPEND_SECONDS = 10.0


def open_log(connection: Connection, topic: TopicName, state: RegistryState) -> SchemasLog:
    """Return the log when all that is in the topic is in `state`, which follows it from then on.

    Raises:
        SchemasTopicError: the topic exists and cannot hold schemas.
        ClusterError: another subclass: the cluster is away, slow, or refuses.
    """

    def fold(record: LogRecord, offset: Offset) -> None:
        state.apply(Record(key=record.key, value=record.value), offset)

    return SchemasLog.open(connection, topic, fold)


class KafkaLog:
    """A `Log` that the leader of an election may append to."""

    def __init__(self, log: SchemasLog, election: Election) -> None:
        self._log, self._election = log, election

    def append(self, records: Sequence[Record]) -> None:
        """Write all of `records` or none of them; return once the state has folded them.

        Raises:
            StoreError, StoreTimeoutError: whether they were written is not known.
            TooLargeError: Kafka takes no record of that size; nothing was written.
            NotLeaderError: another instance leads, or has led meanwhile; nothing was written.
        """
        self._ensure_leading()
        entries = [LogRecord(key=record.key, value=record.value) for record in records]
        try:
            self._log.append(entries, timeout_seconds=_APPEND_SECONDS)
        except FencedError as err:
            self._election.step_down(shut_out=True)
            fault = NotLeaderError if err.is_settled else StoreError
            raise fault(err.message) from err
        except RecordTooLargeError as err:
            raise TooLargeError(err.message) from err
        except (RequestTimedOutError, ClusterUnreachableError) as err:
            self._election.step_down(shut_out=False)
            raise StoreTimeoutError(err.message) from err
        except PenstockError as err:
            self._election.step_down(shut_out=False)
            raise StoreError(err.message) from err

    def _ensure_leading(self) -> None:
        term, decided = self._election.term, deciding_in.get()
        if term is None or decided not in (None, term):
            message = "this instance does not lead"
            raise NotLeaderError(message)
