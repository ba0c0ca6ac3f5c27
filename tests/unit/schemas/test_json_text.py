"""JSON from outside is read with limits, and what is wrong is told with its place."""

import pytest

from penstock.schemas import InvalidSchemaError
from penstock.schemas.json_text import MAX_DEPTH, dump_json, load_json

WRONG: dict[str, tuple[str, str]] = {
    "nothing": ("", "1:1"),
    "a word": ("string", "1:1"),
    "a comma too many": ("[1,\n 2,]", "2:4"),
    "something behind it": ("{} {}", "1:4"),
    "one level too deep": ("\n" + "[" * (MAX_DEPTH + 1), f"2:{MAX_DEPTH + 1}"),
    "a constant that is not JSON": ("[NaN]", ""),
    "a number beyond doubles": ("1e999", ""),
    "a number of many digits": ("1" * 5000, ""),
    "half of a surrogate pair": ('"\\uD800"', ""),
}


@pytest.mark.parametrize(("text", "path"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_stored_or_walked_is_refused(text: str, path: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        load_json(text)
    assert caught.value.path == path


def test_brackets_in_strings_are_no_depth() -> None:
    text = '["' + "[" * 1000 + '\\"' + "{" * 1000 + '"]'
    assert load_json(text) == ["[" * 1000 + '"' + "{" * 1000]


def test_the_deepest_value_that_is_accepted_is_written_again() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert dump_json(load_json(text)) == text


def test_whole_pairs_of_surrogates_are_characters() -> None:
    assert load_json('"\\ud83d\\ude00"') == "😀"


def test_what_is_written_is_as_short_as_it_can_be() -> None:
    assert dump_json({"b": [1, 1.5, None], "a": "ö"}) == '{"b":[1,1.5,null],"a":"ö"}'
    assert dump_json({"b": 1, "a": {"d": 1, "c": 2}}, sort_keys=True) == '{"a":{"c":2,"d":1},"b":1}'
