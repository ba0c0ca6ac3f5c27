"""The pages of groups over a real cluster: lists, one group, and moving it."""

from __future__ import annotations

import csv
import html
import io
import re
import shlex
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import uuid4

import pytest
from confluent_kafka import ShareConsumer

from penstock.console.groups.one_page import moved_by
from penstock.kafka import Admin, GroupType, committed_offsets
from penstock.names import GroupId
from support.consoles import proof_in, running_console
from support.groups import commit, delete_records_before, joined, new_group, produce
from support.terminal import line_on, understood
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with running_console(kafka.connection, tmp_path_factory.mktemp("console")) as client:
        yield client


def address(group: str) -> str:
    return f"/groups/{quote(group, safe='')}"


def to(group: str, verb: str, query: str = "") -> str:
    return f"/{verb}/group/{quote(group, safe='')}{query}"


def await_listed(console: TestClient, group: str) -> None:
    eventually(
        lambda: console.get(address(group), headers=JSON).status_code == 200, within_seconds=30
    )


@pytest.fixture
def group(console: TestClient, connection: Connection, topic: TopicName) -> GroupId:
    """A stopped group: ten records in each of two partitions, of which it has read four and two."""
    group = new_group()
    produce(connection, topic, {0: 10, 1: 10}, timestamp=int((time.time() - 600) * 1000))
    commit(connection, group, topic, {0: 4, 1: 2})
    await_listed(console, group)
    return group


def positions(connection: Connection, group: GroupId) -> list[int]:
    with Admin(connection) as admin:
        found = committed_offsets(admin, [group])[group]
    return [found[partition].offset for partition in sorted(found)]


def test_the_list_shows_a_stopped_group_with_lag_age_and_time_to_loss(
    console: TestClient, group: GroupId
) -> None:
    eventually(
        lambda: (
            console.get(f"/groups?q={group}", headers=JSON).json()["groups"]["items"][0][
                "lag_seconds"
            ]
            is not None
        ),
        within_seconds=30,
    )
    twin = console.get(f"/groups?q={group}&sort=-lag", headers=JSON).json()
    (line,) = twin["groups"]["items"]

    assert (line["lag"], line["members"], line["state"], line["type"]) == (
        14,
        0,
        "empty",
        "classic",
    )
    assert line["lag_seconds"] == pytest.approx(600, abs=60)
    assert line["seconds_to_loss"] == pytest.approx(7 * 86_400 - 600, abs=60)
    page = console.get(f"/groups?q={group}").text
    assert group in page
    assert "6 d 23 h" in page


def test_lists_are_paged_and_sorted_on_the_server(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    stem = f"paged-{uuid4().hex[:8]}"
    produce(connection, topic, {0: 10})
    names = [f"{stem}-{number}" for number in range(5)]
    for number, name in enumerate(names):
        commit(connection, GroupId(name), topic, {0: number})

    def all_are_known() -> bool:
        twin = console.get(f"/groups?q={stem}", headers=JSON).json()
        # A group that is listed may not be in the log of groups yet, and has no lag then.
        return sum(line["lag"] is not None for line in twin["groups"]["items"]) == len(names)

    eventually(all_are_known, within_seconds=30)

    def listed(query: str) -> list[str]:
        twin = console.get(f"/groups?q={stem}&size=2&{query}", headers=JSON).json()
        return [line["group"] for line in twin["groups"]["items"]]

    assert listed("sort=-lag") == names[:2]
    assert listed("sort=lag&page=3") == names[:1]
    assert listed("sort=group&page=2") == names[2:4]


def test_the_page_of_a_group_shows_members_and_positions(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    group = new_group()
    produce(connection, topic, {0: 5})
    with joined(connection, group, topic, "reader-a") as (reader,):
        eventually(lambda: reader.poll(0.2) is not None, within_seconds=20)
        reader.commit(asynchronous=False)
        await_listed(console, group)
        twin = console.get(address(group), headers=JSON).json()

    assert [(item["client_id"], len(item["partitions"])) for item in twin["members"]] == [
        ("reader-a", 3)
    ]
    first = twin["partitions"][0]
    assert (first["committed"], first["end"], first["lag"], first["owner"]) == (1, 5, 4, "reader-a")


def test_a_reset_does_exactly_what_was_shown(
    console: TestClient, connection: Connection, group: GroupId, topic: TopicName
) -> None:
    asked = console.get(to(group, "reset", "?_ask=1&to=end"))
    assert asked.status_code == 200
    shown = list(re.findall(r"<td>([^<]*)</td>" * 6, asked.text))
    assert [(row[0], row[1], row[2]) for row in shown] == [
        (f"{topic}-0", "4", "10"),
        (f"{topic}-1", "2", "10"),
        (f"{topic}-2", "-", "0"),
    ]
    # What was shown stays what is done, although the end moves on meanwhile.
    produce(connection, topic, {0: 50})
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', asked.text))
    answer = console.post(
        to(group, "reset"), data={name: html.unescape(text) for name, text in fields.items()}
    )

    assert (answer.status_code, answer.headers["location"]) == (303, address(group))
    assert positions(connection, group) == [10, 10, 0]
    assert "was moved in 3 partitions" in console.get(address(group)).text


def test_positions_go_where_they_are_sent(
    console: TestClient, connection: Connection, group: GroupId, topic: TopicName
) -> None:
    sent = {
        "shift back": ({"to": "shift", "value": "-1"}, [3, 1]),
        "one partition": ({"to": "start", "topics": f"{topic}:1"}, [3, 0]),
        "an offset": ({"to": "offset", "value": "3"}, [3, 3, 0]),
        "an hour ago": ({"to": "time", "value": "1h"}, [0, 0, 0]),
        "a minute ago": ({"to": "time", "value": "1 min ago"}, [10, 10, 0]),
        "the start": ({"to": "start"}, [0, 0, 0]),
    }
    found = {}
    for name, (entered, _) in sent.items():
        answer = console.post(to(group, "reset"), json=entered, headers=JSON)
        assert answer.status_code == 200, answer.text
        found[name] = positions(connection, group)
    assert found == {name: after for name, (_, after) in sent.items()}


def test_a_reset_whose_records_are_gone_is_refused(
    console: TestClient, connection: Connection, group: GroupId, topic: TopicName
) -> None:
    question = console.get(to(group, "reset", "?_ask=1&to=start"), headers=JSON).json()
    delete_records_before(connection, topic, 7)
    answer = console.post(
        to(group, "reset"),
        json={"to": "start", **question["question"]["settled"]},
        headers=JSON,
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "PEN-671")
    assert positions(connection, group) == [4, 2]


def test_a_group_with_members_is_not_reset(
    console: TestClient, connection: Connection, group: GroupId, topic: TopicName
) -> None:
    with joined(connection, group, topic, "reader-b"):
        asked = console.get(to(group, "reset", "?_ask=1&to=start"))
        answer = console.post(to(group, "reset"), json={"to": "start"}, headers=JSON)
    assert "reader-b" in asked.text
    assert answer.json()["code"] == "PEN-431"
    assert positions(connection, group) == [4, 2]


def test_what_cannot_be_read_is_told_beside_the_form(console: TestClient) -> None:
    for query in ("to=time&value=soon", "to=offset", "to=start&topics=a:b"):
        asked = console.get(f"/reset/group/any?_ask=1&{query}")
        assert asked.status_code == 422, query
        assert "Continue" in asked.text


def test_a_shadow_group_says_whose_it_is_and_that_a_reset_changes_nothing(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    group = GroupId(f"penstock.shop.f{uuid4().hex}")
    produce(connection, topic, {0: 1})
    commit(connection, group, topic, {0: 0})
    await_listed(console, group)

    page = console.get(address(group)).text
    asked = console.get(to(group, "reset", "?_ask=1&to=end")).text
    assert 'href="/pipelines/shop"' in page
    assert "changes nothing of it" in page
    assert "changes nothing of it" in asked


@pytest.mark.parametrize(
    ("entered", "expected"),
    [
        ({"to": "offset", "value": "1,000"}, {"to_offset": 1000}),
        ({"to": "shift", "value": "-1,000"}, {"shift": -1000}),
        ({"to": "time", "value": " 6h ago"}, {}),
        ({"to": "end"}, {"to_latest": True, "all_topics": True}),
    ],
    ids=str,
)
def test_the_line_for_a_terminal_is_what_the_command_understands(
    console: TestClient, group: GroupId, entered: dict[str, str], expected: dict[str, object]
) -> None:
    asked = console.get(to(group, "reset"), params={"_ask": "1", **entered})
    line = line_on(asked.text)

    assert line is not None
    found = understood(line)
    assert found | expected == found
    assert (found["name"], found["execute"]) == (group, True)


@contextmanager
def member_of(
    kind: GroupType, connection: Connection, group: GroupId, topic: TopicName
) -> Iterator[None]:
    """A group of each type, with a member that has read something."""
    if kind is not GroupType.SHARE:
        with joined(connection, group, topic, "reader", protocol=kind.value) as (reader,):
            eventually(lambda: reader.poll(0.2) is not None, within_seconds=20)
            reader.commit(asynchronous=False)
            yield
        return
    consumer = ShareConsumer(connection.client_config() | {"group.id": group, "log_level": 0})
    consumer.subscribe([topic])

    def has_read() -> bool:
        produce(connection, topic, {0: 1})  # it begins at the end
        return bool(consumer.poll(0.5))

    eventually(has_read, within_seconds=60)
    consumer.poll(0.1)  # accepts what was read
    yield
    consumer.close()


@pytest.mark.parametrize("kind", [GroupType.CLASSIC, GroupType.CONSUMER, GroupType.SHARE])
def test_a_group_of_any_type_is_listed_with_its_lag_over_time_and_what_resets_it(
    console: TestClient, connection: Connection, topic: TopicName, kind: GroupType
) -> None:
    group = new_group()
    produce(connection, topic, {0: 5})
    with member_of(kind, connection, group, topic):
        await_listed(console, group)

        def has_a_curve() -> bool:
            found = console.get(address(group), headers=JSON).json()
            return bool(found["lag"]) and found["group"]["members"] == 1

        eventually(has_a_curve, within_seconds=60)
        (line,) = console.get(f"/groups?q={group}", headers=JSON).json()["groups"]["items"]
        assert (line["type"], line["members"]) == (kind, 1)
        page = console.get(address(group)).text

    assert "Records behind" in page
    is_ours = f'href="{to(group, "reset")}"' in page
    assert is_ours is (kind is not GroupType.SHARE)
    kafkas = f"kafka-share-groups.sh --bootstrap-server {connection.bootstrap} --group {group}"
    assert (f"{kafkas} --reset-offsets --all-topics" in page) is not is_ours
    asked = console.get(to(group, "reset", "?_ask=1&to=start"), headers=JSON).json()
    assert asked.get("code") == (None if is_ours else "PEN-432")


def test_a_group_is_deleted_after_a_question(console: TestClient, group: GroupId) -> None:
    asked = console.get(to(group, "delete"))
    assert "What would happen" in asked.text
    assert group in asked.text
    answer = console.post(to(group, "delete"), data={"_proof": proof_in(asked.text)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/groups")
    eventually(
        lambda: console.get(address(group), headers=JSON).status_code == 404, within_seconds=30
    )


def test_hostile_names_of_groups_are_text(
    console: TestClient, connection: Connection, topic: TopicName
) -> None:
    names = (
        "<script>alert(1)</script>",
        "=cmd|' /C calc'!A0",
        "a/b?c#d+e",
        "“quoted” \"x\" 'y'",
        "orders/delete",
        "orders/partitions.csv",
        "reset/group/orders",
    )
    produce(connection, topic, {0: 2})
    for name in names:
        commit(connection, GroupId(name), topic, {0: 1})
    for name in names:
        await_listed(console, name)
        for path in ("/groups", address(name), to(name, "reset"), to(name, "delete")):
            page = console.get(path)
            assert page.status_code == 200, path
            assert "<script>alert" not in page.text
        assert console.get(address(name), headers=JSON).json()["group"]["group"] == name
        table = console.get(to(name, "export")).text
        (_, row) = csv.reader(io.StringIO(table))
        assert row[0].removeprefix("'") == name
        assert not row[0].startswith("=")


def test_the_table_of_positions_is_a_file(
    console: TestClient, group: GroupId, topic: TopicName
) -> None:
    answer = console.get(to(group, "export"))
    rows = list(csv.DictReader(io.StringIO(answer.text)))

    assert answer.headers["content-type"].startswith("text/csv")
    assert [(row["topic"], row["committed"], row["lag"]) for row in rows] == [
        (topic, "4", "6"),
        (topic, "2", "8"),
    ]


def test_an_unknown_group_is_told_with_the_nearest_name(
    console: TestClient, group: GroupId
) -> None:
    twin = console.get(address(f"{group}x"), headers=JSON)
    assert twin.json()["code"] == "PEN-430"
    assert group in twin.json()["hint"]


def test_a_group_of_kafka_streams_is_moved_by_kafkas_own_tool() -> None:
    line = moved_by(GroupType.STREAMS, GroupId("it's"), "kafka:9092")

    assert line is not None
    assert shlex.split(line) == [
        *("kafka-streams-groups.sh", "--bootstrap-server", "kafka:9092", "--group", "it's"),
        *("--reset-offsets", "--all-input-topics", "--to-earliest", "--execute"),
    ]
