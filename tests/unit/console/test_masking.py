"""Masking: what is hidden appears nowhere, whatever the records look like."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.console.records.errors import HiddenFieldError, InvalidMaskError
from penstock.console.records.masking import Masking, masking_for
from penstock.console.records.seeing import Kind, SeenRecord, hex_lines, shown
from penstock.console.records.wanted import Wanted
from penstock.kafka import Header, Record, parse_condition
from penstock.kafka.formats import Recognizer
from penstock.names import Offset, Partition, TopicName
from penstock.settings import MaskSettings
from support.schema_shelf import a_shelf

TOPIC = TopicName("payments")
CARD = "4111-HIDDEN-1111"


def record(
    value: object = None, *, key: bytes | None = None, headers: tuple[Header, ...] = ()
) -> Record:
    data = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    return Record(
        topic=TOPIC,
        partition=Partition(0),
        offset=Offset(7),
        key=key,
        value=data,
        headers=headers,
    )


def seen(found: Record, *masks: MaskSettings) -> SeenRecord:
    return SeenRecord(found, Recognizer(a_shelf()), Masking(TOPIC, masks))


def mask(
    *value: str,
    key: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    is_removed: bool = False,
) -> MaskSettings:
    return MaskSettings(
        topics="*",
        value=value,
        key=key,
        headers=headers,
        kind="remove" if is_removed else "mask",
    )


def everything(found: SeenRecord) -> str:
    """Return all that could be shown of a record in any way."""
    parts = [found.key, found.value, *(value for _, value in found.headers)]
    return "\n".join(
        [repr(part) + part.text + part.pretty + str(part.raw) for part in parts]
        + [json.dumps(part.document, default=str) for part in parts]
    )


@pytest.mark.parametrize(
    ("path", "document", "left"),
    [
        ("$.card", {"card": 1, "id": 2}, {"card": "****", "id": 2}),
        ("$.card", {"card": None}, {"card": "****"}),
        ("$.card", {"id": 2}, {"id": 2}),
        ("$.card.number", {"card": {"number": 1, "n": 2}}, {"card": {"number": "****", "n": 2}}),
        ("$.card.number", {"card": "1234"}, {"card": "****"}),
        ("$.card.number", {"card": None}, {"card": None}),
        ("$.card_number", {"cardNumber": 1}, {"cardNumber": "****"}),
        ("$.Card", {"CARD": 1, "card": 2}, {"CARD": "****", "card": "****"}),
        ("$.items[*].n", {"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": "****"}] * 2}),
        ("$.items.n", {"items": [{"n": 1, "m": 2}]}, {"items": [{"n": "****", "m": 2}]}),
        ("$.items[1]", {"items": [1, 2, 3]}, {"items": [1, "****", 3]}),
        ("$.*.n", {"a": {"n": 1}, "b": {"n": 2}}, {"a": {"n": "****"}, "b": {"n": "****"}}),
        ("$['a b']", {"a b": 1}, {"a b": "****"}),
        ("$.card", [{"card": 1}], [{"card": "****"}]),
        ("$.card", "4111", "****"),
    ],
)
def test_a_field_is_hidden_where_its_path_leads(path: str, document: object, left: object) -> None:
    assert seen(record(document), mask(path)).value.document == left


@pytest.mark.parametrize(
    ("path", "document", "left"),
    [
        ("$.card", {"card": 1, "id": 2}, {"id": 2}),
        ("$.items[*].price", {"items": [{"price": 1, "n": 1}]}, {"items": [{"n": 1}]}),
        ("$.items[0]", {"items": [1, 2]}, {"items": [2]}),
        ("$.card.number", {"card": "1234", "id": 2}, {"id": 2}),
        ("$.card", "4111", "****"),
    ],
)
def test_a_field_may_be_left_out_altogether(path: str, document: object, left: object) -> None:
    assert seen(record(document), mask(path, is_removed=True)).value.document == left


@pytest.mark.parametrize(
    "value",
    [
        CARD.encode(),
        b"{" + CARD.encode(),
        b"\x00\x00\x00\x00\x07" + CARD.encode(),
        b"\x00\x00\x00\x00\x02{" + CARD.encode(),
        b"\xff" + CARD.encode(),
        b"[" * 5000 + CARD.encode(),
        *(b"[" * depth + CARD.encode() + b"]" * depth for depth in (400, 600, 800, 950)),
    ],
)
def test_what_cannot_be_decoded_is_hidden_as_a_whole(value: bytes) -> None:
    found = seen(record(value), mask("$.card"))

    assert found.value.kind is Kind.HIDDEN
    assert found.byte_count is None
    assert CARD not in everything(found)


def test_a_value_of_a_registry_schema_is_masked_like_json() -> None:
    found = seen(record(b'\x00\x00\x00\x00\x02{"card":"4111","id":1}'), mask("$.card"))

    assert found.value.document == {"card": "****", "id": 1}
    assert (found.value.raw, found.value.schema_id) == (None, 2)


def test_keys_and_headers_are_hidden_and_a_tombstone_stays_one() -> None:
    found = seen(
        record(
            key=CARD.encode(),
            headers=(Header("Authorization", CARD.encode()), Header("trace", b"1")),
        ),
        mask(key=("$",), headers=("auth*",)),
    )

    assert found.value.kind is Kind.NULL
    assert found.key.kind is Kind.HIDDEN
    assert [(name, value.text) for name, value in found.headers] == [
        ("Authorization", "****"),
        ("trace", "1"),
    ]
    assert CARD not in everything(found)


def test_a_header_may_be_left_out() -> None:
    found = seen(
        record(headers=(Header("token", b"x"),)), mask(headers=("TOKEN",), is_removed=True)
    )

    assert found.headers == ()
    assert found.byte_count is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["card", "number", "a", "0"]), inner, max_size=3)
    ),
    max_leaves=10,
)


def planted(document: object, steps: list[str]) -> object:
    """Return `document` with the secret at `steps`, below whatever is there."""
    if not steps:
        return {"deep": [CARD, document]}
    inside = document if isinstance(document, dict) else {}
    return {**inside, steps[0]: planted(inside.get(steps[0]), steps[1:])}


@given(
    document=json_values,
    steps=st.lists(st.sampled_from(["card", "number", "a"]), max_size=3),
    is_list=st.booleans(),
    is_removed=st.booleans(),
    written=st.sampled_from(["plain", "registry", "broken"]),
)
def test_no_hidden_value_appears_in_anything_that_is_shown(
    document: object, steps: list[str], written: str, *, is_list: bool, is_removed: bool
) -> None:
    value = planted(document, steps)
    data = json.dumps([value, value] if is_list else value).encode()
    if written == "registry":
        data = b"\x00\x00\x00\x00\x02" + data
    elif written == "broken":
        data = data[:-1]
    path = "$" + "".join(f".{step}" for step in steps)

    found = seen(record(data), mask(path, is_removed=is_removed))

    assert CARD not in everything(found)
    assert not Wanted(text=CARD).matches(found)
    assert not Wanted(text=CARD[3:9]).matches(found)


@pytest.mark.parametrize(
    "condition",
    [
        '$.card.number = "4111"',
        "/card != null",
        "$ != 1",
        '$.card.number.deeper = "4"',
        '/CARD_/0/num-ber = "4111"',
        "/0 != 1",
    ],
)
def test_a_condition_on_a_hidden_field_is_refused(condition: str) -> None:
    wanted = Wanted(condition=parse_condition(condition))
    with pytest.raises(HiddenFieldError):
        wanted.require_visible(Masking(TOPIC, [mask("$.card.number")]))


def test_a_condition_on_another_field_is_not_refused() -> None:
    wanted = Wanted(condition=parse_condition("$.amount > 1"), text="x")
    wanted.require_visible(Masking(TOPIC, [mask("$.card.number", key=(), headers=("token",))]))


def test_keys_and_headers_that_are_hidden_cannot_be_looked_for() -> None:
    masking = Masking(TOPIC, [mask(key=("$.user",), headers=("token",))])
    for wanted in (Wanted(key="ann"), Wanted(header=("Token", None))):
        with pytest.raises(HiddenFieldError):
            wanted.require_visible(masking)


def test_masks_count_for_topics_that_match_and_roles_below() -> None:
    masks = (
        MaskSettings(topics="pay*", value=("$.card",), visible_from="operator"),
        MaskSettings(topics="pay*", value=("$.name",), visible_from="admin"),
    )
    document = {"card": 1, "name": 2}

    def left(topic: str, *roles: str) -> object:
        masking = masking_for(masks, topic, may_see=lambda role: role in roles)
        return SeenRecord(record(document), Recognizer(None), masking).value.document

    assert left("payments") == {"card": "****", "name": "****"}
    assert left("payments", "operator") == {"card": 1, "name": "****"}
    assert left("payments", "operator", "admin") == document
    assert left("orders") == document


def test_a_path_that_is_none_hides_everything_by_refusing() -> None:
    with pytest.raises(InvalidMaskError):
        Masking(TOPIC, [mask("card.number")])


@pytest.mark.parametrize(
    ("wanted", "is_found"),
    [
        (Wanted(key="ann"), True),
        (Wanted(key="an"), False),
        (Wanted(text="pen"), True),
        (Wanted(text="ink"), False),
        (Wanted(header=("trace", None)), True),
        (Wanted(header=("trace", "7")), True),
        (Wanted(header=("trace", "8")), False),
        (Wanted(header=("other", None)), False),
        (Wanted(condition=parse_condition("$.amount > 5")), True),
        (Wanted(condition=parse_condition("$.amount > 50")), False),
        (Wanted(key="ann", text="ink"), False),
        (Wanted(), True),
    ],
)
def test_a_record_is_found_by_all_that_is_asked_of_it(wanted: Wanted, is_found: bool) -> None:  # noqa: FBT001
    found = seen(record({"amount": 6, "what": "pen"}, key=b"ann", headers=(Header("trace", b"7"),)))
    assert wanted.matches(found) is is_found


def test_records_of_a_registry_schema_are_found_by_what_they_stand_for() -> None:
    found = seen(record(b"\x00\x00\x00\x00\x01\x02", key=b'\x00\x00\x00\x00\x02"ann"'))

    assert Wanted(condition=parse_condition("/id = 1")).matches(found)
    assert Wanted(text='"id":1').matches(found)
    assert Wanted(key="ann").matches(found)
    assert not Wanted(key="bob").matches(found)


def test_what_could_disturb_a_page_is_shown_as_escapes_and_long_text_is_cut() -> None:
    assert shown("a\u202eb\x00\ud800\n\té", 100) == ("a\\u202eb\\x00\\ud800\n\té", False)
    assert shown("x" * 10, 4) == ("xxxx", True)
    assert hex_lines(b"GET \x00\xff", 100) == (
        "00000000  47 45 54 20 00 ff                                GET ..",
        False,
    )
