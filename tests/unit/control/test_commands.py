"""Commands on their way: what is written is read again, and nonsense is refused before."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.control.command_errors import CommandRefusedError, WrongArgumentError
from penstock.control.commands import (
    Answer,
    Asked,
    Command,
    CommandId,
    Kill,
    LogLevel,
    Pause,
    Refusal,
    RescaleCores,
    RescaleReading,
    RescaleShuffle,
    Restart,
    Resume,
    SetLogLevel,
    Stop,
    command_id,
    command_key,
    decode_answer,
    decode_asked,
    encode_answer,
    encode_asked,
    ensure_sensible,
    parse_level,
)
from penstock.names import FlowName, PipelineName

CLEAN = FlowName("clean")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LEVEL = SetLogLevel(logger="org.apache.kafka", level=LogLevel.DEBUG, for_seconds=600)


@pytest.mark.parametrize(
    "command",
    [
        Stop(),
        Stop(flow=CLEAN),
        Kill(wait_seconds=10),
        Pause(flow=CLEAN),
        Resume(),
        Restart(flow=CLEAN),
        RescaleCores(cores=4),
        RescaleReading(flow=CLEAN, min_partitions=8),
        RescaleShuffle(flow=CLEAN, shuffle_partitions=8),
        LEVEL,
    ],
    ids=str,
)
def test_a_command_is_read_as_it_was_written(command: Command) -> None:
    asked = Asked(command=command, by="ada@mill", at=NOON)
    written = encode_asked(asked)

    assert decode_asked(written) == asked
    assert decode_answer(written) is None


@pytest.mark.parametrize(
    "answer",
    [
        Answer(at=NOON, done="paused `clean`"),
        Answer(at=NOON, refused=Refusal(code="PEN-232", message="no", hint="yes")),
    ],
    ids=["done", "refused"],
)
def test_an_answer_is_read_as_it_was_written_and_is_no_command(answer: Answer) -> None:
    written = encode_answer(answer)

    assert decode_answer(written) == answer
    assert decode_asked(written) is None


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"{",
        b"[]",
        b'{"command": {"verb": "dance"}, "by": "ada", "at": "2026-05-01T12:00:00Z"}',
    ],
    ids=["nothing", "half", "a list", "another verb"],
)
def test_what_this_version_does_not_know_is_neither(written: bytes) -> None:
    assert (decode_asked(written), decode_answer(written)) == (None, None)


def test_a_refusal_has_the_code_the_sentence_and_the_hint_of_the_driver() -> None:
    answer = Answer(at=NOON, refused=Refusal(code="PEN-232", message="not now", hint="later"))

    with pytest.raises(CommandRefusedError) as refused:
        answer.said()

    told = refused.value.as_dict()
    assert (told["code"], told["message"], told["hint"]) == ("PEN-232", "not now", "later")


def test_keys_belong_to_one_pipeline() -> None:
    shop, shop2 = PipelineName("shop"), PipelineName("shop2")
    key = command_key(shop, CommandId("7"))

    assert (command_id(shop, key), command_id(shop2, key), command_id(shop, "shop")) == (
        "7",
        None,
        None,
    )


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 31 * 86_400])
def test_a_level_that_does_not_go_back_in_time_is_refused(seconds: float) -> None:
    command = SetLogLevel(logger="org.apache.kafka", level=LogLevel.DEBUG, for_seconds=seconds)

    with pytest.raises(WrongArgumentError, match="the time of a level is"):
        ensure_sensible(command)


@pytest.mark.parametrize("name", ["", "org apache", ".org", "org.", "org..apache", "1st", "a-b"])
def test_a_name_that_no_logger_has_is_refused(name: str) -> None:
    with pytest.raises(WrongArgumentError, match="the logger is"):
        ensure_sensible(SetLogLevel(logger=name, level=LogLevel.INFO, for_seconds=1))


@pytest.mark.parametrize(
    "command",
    [
        Kill(wait_seconds=-1),
        Kill(wait_seconds=float("nan")),
        RescaleCores(cores=0),
        RescaleReading(flow=CLEAN, min_partitions=-3),
    ],
    ids=str,
)
def test_numbers_that_make_no_sense_are_refused(command: Command) -> None:
    with pytest.raises(WrongArgumentError):
        ensure_sensible(command)


def test_sensible_commands_are_let_through() -> None:
    for command in (Kill(), Kill(wait_seconds=60), RescaleCores(cores=1), LEVEL, Stop()):
        ensure_sensible(command)


def test_levels_are_read_in_any_case_and_slips_name_the_nearest() -> None:
    assert parse_level("DEBUG") is LogLevel.DEBUG
    with pytest.raises(WrongArgumentError) as refused:
        parse_level("debgu")
    assert refused.value.hint == "did you mean `debug`?"
