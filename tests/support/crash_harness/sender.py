"""Who sends the input and keeps a list of its own of what was acknowledged, by the bare client."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from support.crash_harness.pipeline import ACCOUNTS, NUMBERS_A_SECOND, PARTITIONS, START

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message

    from support.crash_harness.pipeline import PipelineUnderTest

_TWICE_EVERY, _ANSWER_EVERY = 20, 4
_MOST_UNDER_WAY = 300
"""Partitions must not drift apart while one of their leaders is away: lateness has an end."""

_CLOSING = -3
_LATER_SECONDS = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A record that Kafka has confirmed: where it is, and what it says."""

    partition: int
    offset: int
    number: int


class Sender:
    """Sends numbers in their order, some twice, and answers to some, until it is stopped."""

    def __init__(self, bootstrap: str, tested: PipelineUnderTest, *, rate: float) -> None:
        self._tested, self._rate = tested, rate
        self._client = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 600_000,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self.numbers: list[Acknowledged] = []
        self.answers: list[Acknowledged] = []
        self._sent = 0
        self._stop = Event()
        self._thread = Thread(target=self._send_all, name="sender")

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Stop, and return when all is acknowledged; safe to repeat."""
        self._stop.set()
        self._thread.join()
        assert self._client.flush(300) == 0
        assert len(self.numbers) + len(self.answers) == self._sent

    def close_windows(self) -> None:
        """Send records so late that all windows before them are complete."""
        for partition in range(PARTITIONS):
            self._send("numbers", partition, _CLOSING, _number(_CLOSING, _LATER_SECONDS))
            self._send("answers", partition, -1, _answer(-1, _LATER_SECONDS))
        assert self._client.flush(300) == 0

    def _send_all(self) -> None:
        number = 0
        # The last number is one that no filter drops: a batch that is run again writes something.
        while not self._stop.wait(1 / self._rate) or number % 3 == 0:
            number += 1
            second = number // NUMBERS_A_SECOND
            for _ in range(2 if number % _TWICE_EVERY == 0 else 1):
                self._send("numbers", partition_of(number), number, _number(number, second))
            if number % _ANSWER_EVERY == 0:
                self._send("answers", number % PARTITIONS, number, _answer(number, second + 1))
            while self._sent - len(self.numbers) - len(self.answers) > _MOST_UNDER_WAY:
                self._client.poll(0.1)
            self._client.poll(0)

    def _send(self, name: str, partition: int, number: int, value: dict[str, object]) -> None:
        found = self.numbers if name == "numbers" else self.answers
        self._client.produce(
            self._tested.topic(name),
            json.dumps(value),
            partition=partition,
            on_delivery=_noting(found, number),
        )
        self._sent += 1


def partition_of(number: int) -> int:
    """Return where a number goes: those of an account stay together."""
    return number % ACCOUNTS % PARTITIONS


def _noting(found: list[Acknowledged], number: int) -> Callable[[KafkaError | None, Message], None]:
    def note(error: KafkaError | None, message: Message) -> None:
        if error is None:
            place = message.partition() or 0, message.offset() or 0
            found.append(Acknowledged(partition=place[0], offset=place[1], number=number))

    return note


def _number(number: int, second: int) -> dict[str, object]:
    return {"id": number, "account": number % ACCOUNTS, "at": _text(second)}


def _answer(number: int, second: int) -> dict[str, object]:
    return {"id": number, "answer": 2 * number, "at": _text(second)}


def _text(second: int) -> str:
    return datetime.fromtimestamp(START + second, UTC).isoformat()
