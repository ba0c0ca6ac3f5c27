"""Hearing commands in a driver: a thread follows the command table and answers for one pipeline.

A driver carries out what was asked while it listened, and not long ago. What was there before it
listened was for another driver, or nobody; what it hears late, because it was frozen or Kafka was
away, has been given up by whoever asked. A command that comes twice is carried out once.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from penstock.control.command_errors import UnknownToDriverError
from penstock.control.commands import (
    COMMANDS_TOPIC,
    Answer,
    Refusal,
    command_id,
    command_key,
    decode_answer,
    decode_asked,
    encode_answer,
    ensure_sensible,
)
from penstock.control.hasty import done_within
from penstock.errors import PenstockError
from penstock.kafka.tables import KafkaTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.control.commands import Asked, Command, CommandId
    from penstock.kafka import Connection
    from penstock.kafka.tables import Entry
    from penstock.names import PipelineName

    Handle = Callable[[Command], str]
    """Carries out a command and returns what was done or begun; raises PenstockError to refuse.

    Called by one thread, one command after the other; must return within a second or two.
    """

logger = logging.getLogger(__name__)

STALE = timedelta(seconds=30)
"""Nobody waits for so long; clocks of machines differ by less."""

_OPEN_AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 5.0
"""How often to look whether the table is still the one that was opened."""

_CLOSE_SECONDS = 2.0
_REMEMBERED = 1000
"""Answers that are kept for commands that come twice, which happens within seconds."""


class CommandListener:
    """Answers the commands to one pipeline while the `with` block runs.

    Without Kafka it waits; entering the block does not.
    """

    def __init__(self, connection: Connection, pipeline: PipelineName, handle: Handle) -> None:
        """Prepare to call `handle` for each command."""
        self._connection, self._pipeline, self._handle = connection, pipeline, handle
        self.is_listening = Event()
        """Set while commands are heard."""
        self._answers: OrderedDict[CommandId, Answer] = OrderedDict()
        self._closing = Event()
        self._thread = Thread(target=self._listen, name="penstock-commands", daemon=True)

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening; an answer that is on its way is waited for, shortly."""
        self._closing.set()
        self._thread.join(_CLOSE_SECONDS)

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen_once()
            except PenstockError as error:
                logger.warning("commands are not heard", extra={"reason": error.message})
            except Exception:  # the top of a thread: the run goes on, and the next try may do
                logger.exception("commands are not heard")
            finally:
                self.is_listening.clear()
            self._closing.wait(_OPEN_AGAIN_SECONDS)

    def _listen_once(self) -> None:
        """Listen until the end, or until the topic is not the one any more that was opened."""
        opened = Event()

        def hear(key: str, entry: Entry | None) -> None:
            opened.wait()
            self._hear(table, key, entry)

        table = KafkaTable.open(self._connection, COMMANDS_TOPIC, on_change=hear)
        opened.set()
        try:
            self.is_listening.set()
            self._tidy(table)
            while not self._closing.wait(_LOOK_SECONDS):
                table.get("")
        finally:
            done_within(_CLOSE_SECONDS, table.close)

    def _tidy(self, table: KafkaTable) -> None:
        """Remove what earlier commands to this pipeline have left: nobody waits for it any more."""
        for key, entry in table.snapshot().items():
            if command_id(self._pipeline, key) is not None and _is_stale(entry):
                table.delete(key)

    def _hear(self, table: KafkaTable, key: str, entry: Entry | None) -> None:
        command = command_id(self._pipeline, key)
        if command is None or entry is None or decode_answer(entry.value) is not None:
            return
        if _is_stale(entry) or table.get(key) is None:
            logger.warning("a command came too late and is not carried out", extra={"key": key})
            return
        if command not in self._answers:
            self._remember(command, self._answer(decode_asked(entry.value)))
        table.put(command_key(self._pipeline, command), encode_answer(self._answers[command]))

    def _answer(self, asked: Asked | None) -> Answer:
        try:
            if asked is None:
                raise UnknownToDriverError(self._pipeline)
            ensure_sensible(asked.command)
            done = self._handle(asked.command)
        except PenstockError as error:
            return Answer(at=datetime.now(UTC), refused=Refusal.of(error))
        logger.info(
            "command carried out",
            extra={"verb": asked.command.verb, "by": asked.by, "answer": done},
        )
        return Answer(at=datetime.now(UTC), done=done)

    def _remember(self, command: CommandId, answer: Answer) -> None:
        self._answers[command] = answer
        while len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)


def _is_stale(entry: Entry) -> bool:
    return datetime.now(UTC) - entry.written_at > STALE
