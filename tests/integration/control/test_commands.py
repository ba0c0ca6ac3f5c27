"""Asking and answering through a real Kafka: quickly, once, and by the right driver."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.control.asking import ask
from penstock.control.command_errors import (
    CommandRefusedError,
    NobodyListensError,
    NotNowError,
    WrongArgumentError,
)
from penstock.control.commands import (
    COMMANDS_TOPIC,
    Asked,
    CommandId,
    Kill,
    Pause,
    Resume,
    Stop,
    command_key,
    decode_answer,
    encode_asked,
)
from penstock.control.listening import CommandListener
from penstock.kafka.tables import KafkaTable
from penstock.local.cluster import KafkaCluster
from penstock.names import FlowName, PipelineName
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.control.commands import Answer, Command
    from penstock.kafka import Connection
    from penstock.kafka.tables import Entry

CLEAN = FlowName("clean")
PATIENT = 30.0
"""How long drivers may take to answer here; people wait for two seconds."""


@dataclass
class Driver:
    """Notes the commands that it is given, and waits in the middle of one while it is held."""

    heard: list[Command] = field(default_factory=list)
    may_answer: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def carry_out(self, command: Command) -> str:
        self.heard.append(command)
        self.may_answer.wait(60)
        if isinstance(command, Resume):
            raise NotNowError(doing="dreaming", hint="wake it")
        return f"{command.verb} it is"


@pytest.fixture(autouse=True)
def forgets_at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that was given up is withdrawn, however long that takes here."""
    monkeypatch.setattr("penstock.control.asking._FORGET_SECONDS", 20.0)


@pytest.fixture
def pipeline() -> PipelineName:
    return PipelineName(f"shop-{uuid4().hex[:8]}")


def listening(connection: Connection, pipeline: PipelineName, driver: Driver) -> CommandListener:
    return CommandListener(connection, pipeline, driver.carry_out)


def await_hearing(listener: CommandListener) -> None:
    assert listener.is_listening.wait(30)


def test_an_answer_comes_within_two_seconds(connection: Connection, pipeline: PipelineName) -> None:
    driver, seconds = Driver(), []
    with listening(connection, pipeline, driver) as listener:
        await_hearing(listener)
        for _ in range(3):
            begun = time.monotonic()
            answer = ask(connection, pipeline, Pause(flow=CLEAN), PATIENT)
            seconds.append(time.monotonic() - begun)

    assert answer.said() == "pause it is"
    assert statistics.median(seconds) < 2
    assert driver.heard == [Pause(flow=CLEAN)] * 3
    assert left_behind(connection, pipeline) == []


def test_a_refusal_is_an_answer_too(connection: Connection, pipeline: PipelineName) -> None:
    with listening(connection, pipeline, Driver()) as listener:
        await_hearing(listener)
        answer = ask(connection, pipeline, Resume(), PATIENT)

    with pytest.raises(CommandRefusedError) as refused:
        answer.said()
    assert (refused.value.code, refused.value.message, refused.value.hint) == (
        "PEN-238",
        "the pipeline is dreaming",
        "wake it",
    )


def test_that_nobody_listens_is_known_soon_and_the_command_is_withdrawn(
    connection: Connection, pipeline: PipelineName
) -> None:
    KafkaTable.open(connection, COMMANDS_TOPIC).close()
    begun = time.monotonic()
    with pytest.raises(NobodyListensError) as told:
        ask(connection, pipeline, Stop())
    seconds = time.monotonic() - begun

    assert seconds < 30, "two seconds for the answer, the rest for connections"
    assert told.value.withdrawn
    assert left_behind(connection, pipeline) == []


def test_nonsense_is_refused_before_anybody_is_asked(pipeline: PipelineName) -> None:
    from penstock.kafka import Connection

    with pytest.raises(WrongArgumentError):
        ask(Connection(bootstrap="127.0.0.1:1"), pipeline, Kill(wait_seconds=-1))


def test_drivers_hear_what_is_meant_for_them(
    connection: Connection, pipeline: PipelineName
) -> None:
    other = PipelineName(f"{pipeline}-2")
    first, second = Driver(), Driver()
    with (
        listening(connection, pipeline, first) as one,
        listening(connection, other, second) as two,
    ):
        await_hearing(one)
        await_hearing(two)
        ask(connection, pipeline, Pause(), PATIENT)
        ask(connection, other, Stop(), PATIENT)

    assert (first.heard, second.heard) == ([Pause()], [Stop()])


def test_what_was_asked_before_a_driver_listened_is_none_of_its_business(
    connection: Connection, pipeline: PipelineName
) -> None:
    driver = Driver()
    with KafkaTable.open(connection, COMMANDS_TOPIC) as table:
        table.put(command_key(pipeline, CommandId("early")), written(Stop()))
        with listening(connection, pipeline, driver) as listener:
            await_hearing(listener)
            ask(connection, pipeline, Pause(), PATIENT)
        unanswered = table.get(command_key(pipeline, CommandId("early")))

    assert driver.heard == [Pause()]
    assert unanswered is not None
    assert decode_answer(unanswered.value) is None


def test_a_command_that_was_given_up_is_not_carried_out_later(
    connection: Connection, pipeline: PipelineName
) -> None:
    """The driver is busy with a first command while a second one is asked and withdrawn."""
    driver = Driver()
    driver.may_answer.clear()
    with listening(connection, pipeline, driver) as listener:
        await_hearing(listener)
        first = asking(connection, pipeline, Pause(), timeout_seconds=60)
        eventually(lambda: driver.heard == [Pause()], within_seconds=30)
        with pytest.raises(NobodyListensError):
            ask(connection, pipeline, Kill())
        driver.may_answer.set()
        answered = first.get(timeout=60)
        last = ask(connection, pipeline, Pause(flow=CLEAN), PATIENT)

    assert not isinstance(answered, Exception)
    assert answered.said() == "pause it is"
    assert last.said() == "pause it is"
    assert driver.heard == [Pause(), Pause(flow=CLEAN)]


def test_a_command_that_comes_twice_is_carried_out_once_and_answered_twice(
    connection: Connection, pipeline: PipelineName
) -> None:
    driver, key = Driver(), command_key(pipeline, CommandId("twice"))
    answers: list[Answer] = []
    with (
        KafkaTable.open(connection, COMMANDS_TOPIC) as table,
        listening(connection, pipeline, driver) as listener,
    ):
        await_hearing(listener)
        for _ in range(2):
            table.put(key, written(Stop()))
            entry = table.wait_for(key, is_answer, 10)
            answers.append(answer_in(entry))

    assert answers[0] == answers[1]
    assert driver.heard == [Stop()]


def test_a_command_of_another_version_is_refused(
    connection: Connection, pipeline: PipelineName
) -> None:
    driver, key = Driver(), command_key(pipeline, CommandId("new"))
    value = b'{"command": {"verb": "dance"}, "by": "ada", "at": "2026-05-01T12:00:00Z"}'
    with (
        KafkaTable.open(connection, COMMANDS_TOPIC) as table,
        listening(connection, pipeline, driver) as listener,
    ):
        await_hearing(listener)
        table.put(key, value)
        entry = table.wait_for(key, is_answer, 10)

    answer = answer_in(entry)
    assert answer.refused is not None
    assert (answer.refused.code, driver.heard) == ("PEN-237", [])


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_broker_that_restarts_in_the_middle_of_a_command_delays_the_answer(
    tmp_path: Path, pipeline: PipelineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is patient gets the answer, whoever is not is told so; the driver goes on."""
    driver = Driver()
    # Nothing is forgotten without a broker: to wait for that would outlast the driver's patience.
    monkeypatch.setattr("penstock.control.asking._FORGET_SECONDS", 0.4)
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        broker = cluster.broker_ids[0]
        with listening(cluster.connection, pipeline, driver) as listener:
            await_hearing(listener)
            driver.may_answer.clear()
            patient = asking(cluster.connection, pipeline, Pause(), timeout_seconds=120)
            eventually(lambda: driver.heard == [Pause()], within_seconds=30)
            with KafkaTable.open(cluster.connection, COMMANDS_TOPIC) as table:
                hasty = asking(cluster.connection, pipeline, Stop(), timeout_seconds=2)
                # The second entry is there for two seconds: a table that is open sees it.
                eventually(
                    lambda: sum(key.startswith(pipeline) for key in table.snapshot()) == 2,
                    within_seconds=30,
                )
            cluster.kill(broker)
            driver.may_answer.set()
            given_up = hasty.get(timeout=30)
            cluster.start_broker(broker)
            cluster.await_ready()
            answer = patient.get(timeout=120)
            again = ask(cluster.connection, pipeline, Pause(flow=CLEAN), timeout_seconds=30)

    assert isinstance(given_up, NobodyListensError)
    assert not isinstance(answer, Exception)
    assert answer.said() == "pause it is"
    assert again.said() == "pause it is"
    assert driver.heard[-1] == Pause(flow=CLEAN)


def asking(
    connection: Connection, pipeline: PipelineName, command: Command, *, timeout_seconds: float
) -> SimpleQueue[Answer | Exception]:
    """Ask in a thread; the answer, or the error, comes through the queue."""
    outcome: SimpleQueue[Answer | Exception] = SimpleQueue()

    def act() -> None:
        try:
            outcome.put(ask(connection, pipeline, command, timeout_seconds))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            outcome.put(error)

    Thread(target=act, daemon=True).start()
    return outcome


def written(command: Command) -> bytes:
    return encode_asked(Asked(command=command, by="ada@mill", at=datetime.now(UTC)))


def is_answer(entry: Entry | None) -> bool:
    return entry is not None and decode_answer(entry.value) is not None


def answer_in(entry: Entry | None) -> Answer:
    answer = decode_answer(entry.value) if entry else None
    assert answer is not None
    return answer


def left_behind(connection: Connection, pipeline: PipelineName) -> list[str]:
    """Return the keys of the pipeline's commands that are in the table."""
    with KafkaTable.open(connection, COMMANDS_TOPIC) as table:
        return [key for key in table.snapshot() if key.startswith(f"{pipeline}/")]
