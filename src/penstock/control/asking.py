"""Asking the driver of a pipeline, wherever it runs, and waiting for its answer."""

from __future__ import annotations

import getpass
import socket
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.control.command_errors import NobodyListensError
from penstock.control.commands import (
    COMMANDS_TOPIC,
    Asked,
    CommandId,
    command_key,
    decode_answer,
    encode_asked,
    ensure_sensible,
)
from penstock.control.hasty import done_within
from penstock.kafka.tables import KafkaTable, TableTimeoutError

if TYPE_CHECKING:
    from penstock.control.commands import Answer, Command
    from penstock.kafka import Connection
    from penstock.kafka.tables import Entry
    from penstock.names import PipelineName

ANSWER_SECONDS = 2.0
"""How long a driver may take; it answers what it begins, and does not wait for batches."""

_FORGET_SECONDS = 0.4
"""How long Kafka may take to forget a command; if it is away, whoever asked does not wait."""


def ask(
    connection: Connection,
    pipeline: PipelineName,
    command: Command,
    timeout_seconds: float = ANSWER_SECONDS,
    *,
    by: str | None = None,
) -> Answer:
    """Ask the driver of `pipeline` to carry out `command`, and return what it says.

    A command that nobody has answered in time is withdrawn, so that no driver finds it later.
    `by` says who asks; default: this user on this machine.

    Raises:
        WrongArgumentError: the command makes no sense; nobody was asked.
        NobodyListensError: there was no answer.
        PenstockError: Kafka cannot be used.
    """
    ensure_sensible(command)
    key = command_key(pipeline, CommandId(uuid4().hex))
    asked = Asked(command=command, by=by or _asker(), at=datetime.now(UTC))
    table = KafkaTable.open(connection, COMMANDS_TOPIC)
    try:
        table.put(key, encode_asked(asked))
        answer = _await_answer(table, key, timeout_seconds)
        withdrawn = done_within(_FORGET_SECONDS, lambda: table.delete(key))
    finally:
        done_within(_FORGET_SECONDS, table.close)
    if answer is None:
        raise NobodyListensError(pipeline, seconds=timeout_seconds, withdrawn=withdrawn)
    return answer


def _await_answer(table: KafkaTable, key: str, timeout_seconds: float) -> Answer | None:
    with suppress(TableTimeoutError):
        entry = table.wait_for(key, _is_answer, timeout_seconds)
        return decode_answer(entry.value) if entry else None
    return None


def _is_answer(entry: Entry | None) -> bool:
    return entry is not None and decode_answer(entry.value) is not None


def _asker() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under an id that has no name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
