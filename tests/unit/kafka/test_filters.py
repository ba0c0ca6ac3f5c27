"""Filters on records: which values match, and what is said about conditions that cannot be read."""

import json

import pytest

from penstock.kafka.consumer.filters import ContainsText, InvalidConditionError, parse_condition
from penstock.kafka.records import Record
from penstock.names import Offset, Partition, TopicName


def record_of(value: bytes | None) -> Record:
    return Record(
        topic=TopicName("orders"),
        partition=Partition(0),
        offset=Offset(7),
        key=None,
        value=value,
    )


ORDER = {
    "amount": 120,
    "price": 1.0,
    "paid": True,
    "note": None,
    "user": {"name": "ann", "a/b": 1, "m~n": 2},
    "items": ["pen", {"count": 3}],
}


@pytest.mark.parametrize(
    "condition",
    [
        "/amount > 100",
        "/amount>=120",
        "/amount = 120.0",
        "/amount == 120",
        "/amount != 121",
        "/amount < 1e3",
        "/amount <= 120",
        "/price = 1",
        "/paid = true",
        "/note = null",
        '/user/name = "ann"',
        '/user/name < "bob"',
        "/user/a~1b = 1",
        "/user/m~0n = 2",
        '/items/0 = "pen"',
        '/items/1 = {"count": 3}',
        '/items = ["pen", {"count": 3.0}]',
    ],
)
def test_a_condition_that_holds_matches(condition: str) -> None:
    assert parse_condition(condition).matches(record_of(json.dumps(ORDER).encode()))


@pytest.mark.parametrize(
    "condition",
    [
        "/amount > 120",
        '/amount > "100"',
        "/paid = 1",
        "/price = true",
        "/paid > 0",
        "/note != null",
        "/missing = null",
        "/missing != 1",
        "/items/2 = 1",
        "/items/-1 = 1",
        "/items/x = 1",
        "/amount/deeper = 1",
        '/items = ["pen"]',
    ],
)
def test_a_condition_that_does_not_hold_does_not_match(condition: str) -> None:
    assert not parse_condition(condition).matches(record_of(json.dumps(ORDER).encode()))


@pytest.mark.parametrize(
    "value",
    [None, b"", b"not json", b"\xff\xfe\x00", b"NaN", b"[" * 100_000],
    ids=["null", "empty", "text", "bytes", "NaN", "deep"],
)
def test_a_value_that_is_not_json_matches_no_condition(value: bytes | None) -> None:
    record = record_of(value)
    found = [parse_condition(text).matches(record) for text in ("/a != 1", "= null", "/a = 1")]
    assert found == [False, False, False]


def test_an_empty_pointer_is_the_whole_value() -> None:
    assert parse_condition("= 12").matches(record_of(b"12"))


def test_text_is_searched_in_the_value() -> None:
    values = (b"say ann", b"say Ann", b"", None)
    found = [ContainsText(b"ann").matches(record_of(value)) for value in values]
    assert found == [True, False, False, False]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("amount > 100", "it has no `/pointer`, operator and literal"),
        ("/amount", "it has no `/pointer`, operator and literal"),
        ("/amount >", "it has no `/pointer`, operator and literal"),
        ("", "it has no `/pointer`, operator and literal"),
        ("/name = ann", "`ann` is not a JSON literal; text needs double quotes"),
        ("/name = __import__('os')", "`__import__('os')` is not a JSON literal; text needs double"),
        ("/amount = NaN", "`NaN` is not a JSON literal; text needs double quotes"),
        ("/amount => 1", "`> 1` is not a JSON literal; text needs double quotes"),
    ],
)
def test_a_condition_that_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(InvalidConditionError) as caught:
        parse_condition(text)
    assert caught.value.message.startswith(f"`{text}` is not a condition: {reason}")
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    "condition",
    [
        "$.amount > 100",
        '$.user.name = "ann"',
        "$['user']['a/b'] = 1",
        '$["user"]["m~n"]=2',
        '$.items[0] = "pen"',
        "$.items[1].count >= 3",
    ],
)
def test_a_json_path_names_a_field_as_a_pointer_does(condition: str) -> None:
    assert parse_condition(condition).matches(record_of(json.dumps(ORDER).encode()))


def test_a_path_alone_is_the_whole_value() -> None:
    assert parse_condition("$ = 12").matches(record_of(b"12"))


@pytest.mark.parametrize("condition", ["$.items[*] = 1", "$..name = 1", "$[x] = 1", "$.a. = 1"])
def test_a_path_that_could_name_many_fields_is_refused(condition: str) -> None:
    with pytest.raises(InvalidConditionError):
        parse_condition(condition)
