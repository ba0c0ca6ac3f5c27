"""Commands to a running pipeline: what can be asked of its driver, and what it answers.

A command travels as one entry of the table `_penstock.commands`, key `<pipeline>/<command id>`.
The driver answers by putting its answer under the same key; whoever asked removes the entry.
Sending is in `asking.py`, hearing in `listening.py`; what a command does is in `verbs.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from enum import StrEnum
from typing import Annotated, Literal, NewType

from pydantic import Field, TypeAdapter, ValidationError

from penstock.control.command_errors import CommandRefusedError, WrongArgumentError
from penstock.errors import PenstockError  # noqa: TC001 - part of the signature
from penstock.names import FlowName, PipelineName, TopicName, nearest

COMMANDS_TOPIC = TopicName("_penstock.commands")

LONGEST_WAIT_SECONDS = 86_400
LONGEST_LEVEL_SECONDS = 30 * 86_400
"""Longer ones are slips, or should be settings."""

CommandId = NewType("CommandId", str)
"""Unique for ever, so that a command that comes twice is known again."""


class LogLevel(StrEnum):
    """How much a logger of the JVM writes, in log4j's words."""

    OFF = "off"
    FATAL = "fatal"
    ERROR = "error"
    WARN = "warn"
    INFO = "info"
    DEBUG = "debug"
    TRACE = "trace"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Finish the running batch and stop: one flow until somebody starts it, or the pipeline."""

    flow: FlowName | None = None
    verb: Literal["stop"] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Let running batches finish for so long, then stop at once."""

    flow: FlowName | None = None
    wait_seconds: float = 0
    verb: Literal["kill"] = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Finish the running batch and rest; place and state are kept, executors are freed."""

    flow: FlowName | None = None
    verb: Literal["pause"] = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Go on where a pause, or a stop of a single flow, began."""

    flow: FlowName | None = None
    verb: Literal["resume"] = "resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Finish the running batch and start again: one flow, or the whole driver by its keeper."""

    flow: FlowName | None = None
    verb: Literal["restart"] = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleCores:
    """Run with so many cores; the driver starts again."""

    cores: int
    verb: Literal["rescale_cores"] = "rescale_cores"


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleReading:
    """Let a flow read each of its topics with at least so many tasks; it starts again."""

    flow: FlowName
    min_partitions: int
    verb: Literal["rescale_reading"] = "rescale_reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleShuffle:
    """Change how many partitions the shuffles and the state of a flow have: always refused.

    The answer says what the checkpoint has and what a replay would mean.
    """

    flow: FlowName
    shuffle_partitions: int
    verb: Literal["rescale_shuffle"] = "rescale_shuffle"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLogLevel:
    """Let a logger of the JVM write more or less for a while; it goes back by itself."""

    logger: str
    """Such as `org.apache.kafka`, with all below it; `root` is all of them."""

    level: LogLevel
    for_seconds: float
    verb: Literal["log_level"] = "log_level"


FlowCommand = Stop | Kill | Pause | Resume | Restart
"""What is done to one flow, or to all of them."""

Command = FlowCommand | RescaleCores | RescaleReading | RescaleShuffle | SetLogLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A command on its way."""

    command: Annotated[Command, Field(discriminator="verb")]
    by: str
    """Who asked: user and machine."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a command was not carried out: the fields of an error."""

    code: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: PenstockError) -> Refusal:
        """Return what an answer says of `error`."""
        return cls(code=error.code, message=error.message, hint=error.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the driver did or began, or why it did not; one of the two is set."""

    at: datetime
    done: str | None = None
    refused: Refusal | None = None

    def said(self) -> str:
        """Return what was done or begun.

        Raises:
            CommandRefusedError: nothing was; it has the code, sentence and hint of the driver.
        """
        if self.refused is not None:
            raise CommandRefusedError(self.refused)
        return self.done or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    answer: Answer


_ASKED, _ANSWERED = TypeAdapter(Asked), TypeAdapter(_Answered)
_LOGGER_NAME = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*")


def command_key(pipeline: PipelineName, command: CommandId) -> str:
    """Return the key of a command in the table."""
    return f"{pipeline}/{command}"


def command_id(pipeline: PipelineName, key: str) -> CommandId | None:
    """Return which command of `pipeline` a key stands for, or None if it is another's."""
    whose, _, command = key.partition("/")
    return CommandId(command) if whose == pipeline and command else None


def encode_asked(asked: Asked) -> bytes:
    """Return a command as the table keeps it."""
    return _ASKED.dump_json(asked)


def decode_asked(value: bytes) -> Asked | None:
    """Return the command that the table keeps; None when this version knows no such command."""
    try:
        return _ASKED.validate_json(value)
    except ValidationError:
        return None


def encode_answer(answer: Answer) -> bytes:
    """Return an answer as the table keeps it."""
    return _ANSWERED.dump_json(_Answered(answer=answer))


def decode_answer(value: bytes) -> Answer | None:
    """Return the answer that the table keeps; None when it is a command."""
    try:
        return _ANSWERED.validate_json(value).answer
    except ValidationError:
        return None


def parse_level(text: str) -> LogLevel:
    """Return the level that `text` names, in any case.

    Raises:
        WrongArgumentError: there is none of that name.
    """
    try:
        return LogLevel(text.lower())
    except ValueError:
        close = nearest(text.lower(), list(LogLevel))
        raise WrongArgumentError(
            what="the level",
            found=f"`{text}`",
            expected=f"one of {', '.join(LogLevel)}",
            hint=f"did you mean `{close}`?" if close else "`debug` shows the most that is of use",
        ) from None


def ensure_sensible(command: Command) -> None:
    """Check what can be checked without the pipeline; both ends do it.

    Raises:
        WrongArgumentError: an argument makes no sense.
    """
    match command:
        case Kill(wait_seconds=wait) if not 0 <= wait <= LONGEST_WAIT_SECONDS:
            raise WrongArgumentError(
                what="the wait",
                found=f"{wait:g} s",
                expected=f"0 to {LONGEST_WAIT_SECONDS}",
                hint="`--wait 0` stops at once",
            )
        case RescaleCores(cores=count) if count < 1:
            raise _too_few(count, "the number of cores")
        case RescaleReading(min_partitions=count) if count < 1:
            raise _too_few(count, "the number of tasks that read")
        case SetLogLevel():
            _ensure_sensible_level(command)
        case _:
            pass


def _too_few(count: int, what: str) -> WrongArgumentError:
    return WrongArgumentError(
        what=what, found=str(count), expected="1 or more", hint="`penstock pause` lets a flow rest"
    )


def _ensure_sensible_level(command: SetLogLevel) -> None:
    if not 0 < command.for_seconds <= LONGEST_LEVEL_SECONDS:
        raise WrongArgumentError(
            what="the time of a level",
            found=f"{command.for_seconds:g} s",
            expected="more than 0 and at most 30 days, as it goes back by itself",
            hint="`--for 10m` is ten minutes",
        )
    if not _LOGGER_NAME.fullmatch(command.logger):
        raise WrongArgumentError(
            what="the logger",
            found=f"`{command.logger}`",
            expected="a name such as `org.apache.kafka`, or `root`",
            hint="loggers are called like Java packages and classes",
        )
