"""The log on Kafka as one instance sees it: what may be written, and when."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.kafka.schemas_log import LogRecord
from penstock.names import TopicName
from penstock.registry.election import Election, deciding_in
from penstock.registry.errors import NotLeaderError, TooLargeError
from penstock.registry.log import Record
from penstock.registry.state import RegistryState
from penstock.registry.storage import KafkaLog, open_log

if TYPE_CHECKING:
    from penstock.kafka import Connection

RECORD = Record(key=b'{"keytype":"NOOP","magic":0}', value=b"{}")


def test_only_a_leader_writes_and_only_what_it_decided_in_its_term(connection: Connection) -> None:
    topic = TopicName(f"_schemas-{uuid4().hex}")
    with closing(open_log(connection, topic, RegistryState())) as log:
        election = Election(connection, log, address="http://127.0.0.1:1")
        storage = KafkaLog(log, election)
        with pytest.raises(NotLeaderError):
            storage.append([RECORD])
        election.start()
        with closing(election):
            election.await_term(30)
            storage.append([RECORD])
            before = election.term
            assert before is not None
            election.step_down(shut_out=False)
            election.await_term(30)
            assert election.term == before + 1
            token = deciding_in.set(before)
            with pytest.raises(NotLeaderError):
                storage.append([RECORD])
            deciding_in.reset(token)
            storage.append([RECORD])


def test_a_record_that_kafka_does_not_take_costs_the_leader_nothing(connection: Connection) -> None:
    topic = TopicName(f"_schemas-{uuid4().hex}")
    with closing(open_log(connection, topic, RegistryState())) as log:
        election = Election(connection, log, address="http://127.0.0.1:1")
        storage = KafkaLog(log, election)
        election.start()
        with closing(election):
            election.await_term(30)
            before = election.term
            with pytest.raises(TooLargeError):
                storage.append([RECORD, Record(key=b"large", value=b"." * 1_000_000)])
            storage.append([RECORD])
            assert election.term == before


def test_what_was_appended_before_another_entered_is_the_last_of_it(connection: Connection) -> None:
    """Another writer enters behind the leader's back; the leader gives up and asks the group."""
    topic = TopicName(f"_schemas-{uuid4().hex}")
    with (
        closing(open_log(connection, topic, RegistryState())) as log,
        closing(open_log(connection, topic, RegistryState())) as other,
    ):
        election = Election(connection, log, address="http://127.0.0.1:1")
        storage = KafkaLog(log, election)
        election.start()
        with closing(election):
            election.await_term(30)
            storage.append([RECORD])
            other.enter(transactional_id=f"penstock-registry:{topic}", timeout_seconds=30)
            other.append([LogRecord(key=b"{}", value=b"{}")], timeout_seconds=30)
            with pytest.raises(NotLeaderError):
                storage.append([RECORD])
            election.await_term(30)  # alone in its group, it is elected again
            storage.append([RECORD])
