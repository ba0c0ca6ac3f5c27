"""Pages of topics and what can be done there, over a real cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.console.access import Role, load_users, token_line
from penstock.control.trail import Trail
from penstock.kafka import (
    Admin,
    Consumer,
    Manual,
    Producer,
    Start,
    UnknownTopicError,
    describe_topics,
)
from penstock.names import PipelineName, TopicName
from support.consoles import proof_in, running_console
from support.published_pipelines import published_pipeline
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2
    from starlette.testclient import TestClient

    from penstock.kafka import TopicDescription
    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with running_console(kafka.connection, tmp_path_factory.mktemp("console")) as client:
        yield client


@pytest.fixture
def written(kafka: KafkaCluster, topic: TopicName) -> TopicName:
    """A topic with 30 records with keys, 10 in each of three partitions."""
    with Producer(kafka.connection) as producer:
        for number in range(30):
            producer.send(topic, b"value", key=f"key-{number}".encode(), partition=number % 3)
    return topic


def described(kafka: KafkaCluster, name: TopicName) -> TopicDescription:
    with Admin(kafka.connection) as admin:
        return describe_topics(admin, [name])[0]


def asked(console: TestClient, path: str, **entered: str) -> dict[str, object]:
    answer = console.get(path, params={"_ask": "1", **entered}, headers=JSON).json()
    question: dict[str, object] = answer["question"]
    return question


def answered(console: TestClient, path: str, **entered: str) -> httpx2.Response:
    page = console.get("/topics")
    return console.post(path, data={"_proof": proof_in(page.text), **entered})


def has_sampled(console: TestClient, name: TopicName, field: str, value: object) -> bool:
    found = console.get(f"/topics/{name}", headers=JSON).json()
    return bool(found["topic"][field] == value)


def rows_of(page: str) -> list[str]:
    """Return the rows of the tables of a page as plain text."""
    found = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in found]


def test_the_list_is_searched_sorted_and_cut_on_the_server(
    console: TestClient, kafka: KafkaCluster
) -> None:
    mark = uuid4().hex
    for number in range(3):
        kafka.create_topic(f"{mark}-{number}", partition_count=number + 1)

    def found(**query: str) -> list[str]:
        list_ = console.get("/topics", params={"q": mark, **query}, headers=JSON).json()["topics"]
        return [line["topic"].removeprefix(f"{mark}-") for line in list_["items"]]

    eventually(lambda: found() == ["0", "1", "2"], within_seconds=30)
    assert found(sort="-partitions") == ["2", "1", "0"]
    assert found(sort="-partitions", size="2", page="2") == ["0"]
    assert found(q=f"{mark}-1") == ["1"]
    page = console.get("/topics", params={"q": mark})
    assert f'href="/topics/{mark}-2/records"' in page.text


def test_internal_topics_are_shown_when_asked_for(console: TestClient) -> None:
    def has(query: str) -> bool:
        page = console.get(f"/topics?q=__consumer_offsets{query}", headers=JSON).json()
        return bool(page["topics"]["items"])

    eventually(lambda: has("&internal=yes"), within_seconds=30)
    assert not has("")


def test_a_topic_shows_partitions_sizes_and_who_reads_it(
    console: TestClient, kafka: KafkaCluster, written: TopicName
) -> None:
    group = f"readers-{uuid4().hex}"
    with Consumer(
        kafka.bootstrap, [written], group=group, start=Start.EARLIEST, commit=Manual()
    ) as consumer:
        records = [record for _, record in zip(range(12), consumer, strict=False)]
        consumer.commit()
    assert len(records) == 12  # all of one partition, two of the next, and none of the third

    def is_known() -> bool:
        page = console.get(f"/topics/{written}", headers=JSON).json()
        lags = {item["group"]: item["lag"] for item in page["consumers"]}
        is_kept = page["topic"]["retention_seconds"] == 7 * 24 * 3600
        return page["topic"]["offsets"] == 30 and lags.get(group) == 8 and is_kept

    eventually(is_known, within_seconds=60)
    page = console.get(f"/topics/{written}", headers=JSON).json()
    assert [(item["first"], item["end"]) for item in page["partitions"]] == [(0, 10)] * 3
    assert page["findings"] == []
    shown = console.get(f"/topics/{written}").text
    assert f"/groups/{group}" in shown
    assert f"penstock topics describe {written}" in shown


def test_a_topic_shows_the_contract_of_the_pipeline_that_declares_it(
    console: TestClient, kafka: KafkaCluster, topic: TopicName
) -> None:
    pipeline = PipelineName(f"declares-{uuid4().hex}")
    with published_pipeline(kafka.connection, pipeline, topic):
        contract = {
            "side": "value",
            "type": "json",
            "subject": None,
            "version": None,
            "pipeline": pipeline,
            "columns": "host string, hits bigint",
        }
        eventually(lambda: has_sampled(console, topic, "contracts", [contract]), within_seconds=30)

        def is_listed() -> bool:
            listed = console.get("/topics", params={"q": topic}, headers=JSON).json()["topics"]
            return [line["contracts"] for line in listed["items"]] == [[contract]]

        eventually(is_listed, within_seconds=30)
        shown = console.get(f"/topics/{topic}").text

    assert "host string, hits bigint" in shown
    assert f'href="/pipelines/{pipeline}"' in shown


def test_how_long_a_topic_keeps_records_is_told(console: TestClient, kafka: KafkaCluster) -> None:
    configs = {
        "days": {"retention.ms": "172800000"},
        "ever": {"retention.ms": "-1", "retention.bytes": "1048576"},
        "keys": {"cleanup.policy": "compact"},
    }
    mark = uuid4().hex
    for kind, config in configs.items():
        kafka.create_topic(f"{mark}-{kind}", config=config)

    def is_told() -> bool:
        rows = rows_of(console.get("/topics", params={"q": mark}).text)
        kept = {row.split()[0].removeprefix(f"{mark}-"): row for row in rows}
        return (
            " 2 d " in kept.get("days", "")
            and " for ever 1 MiB a partition " in kept.get("ever", "")
            and " for ever compacted " in kept.get("keys", "")
        )

    eventually(is_told, within_seconds=30)


def test_a_topic_that_is_not_there_is_not_found(console: TestClient) -> None:
    answer = console.get("/topics/nobody-has-made-it", headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (404, UnknownTopicError.code)


def test_a_topic_is_created_with_what_was_entered_and_put_on_the_trail(
    console: TestClient, kafka: KafkaCluster
) -> None:
    name = f"made-{uuid4().hex}"
    entered = {"name": name, "partitions": "2", "configs": "retention.ms = 60000"}

    question = asked(console, "/create/topic", **entered)
    assert question["button"] == "Create"
    assert question["preview"] == {
        "head": ["Config", "Value"],
        "rows": [["retention.ms", "60000"]],
    }
    assert answered(console, "/create/topic", **entered).status_code == 303

    made = described(kafka, TopicName(name))
    assert (len(made.partitions), made.config("retention.ms")) == (2, "60000")
    assert console.get(f"/topics/{name}").status_code == 200
    newest = Trail(kafka.connection).last(50)
    entry = next(item for item in newest if item.action == "create_topic")
    assert entry.done == f"Topic `{name}` was created."


def test_what_kafka_would_refuse_is_refused_before_it_is_asked(console: TestClient) -> None:
    page = console.get(
        "/create/topic", params={"_ask": "1", "name": "x", "configs": "retention.mss=1"}
    )

    assert page.status_code == 400
    assert "retention.mss" in page.text
    assert "did you mean" in page.text


def test_configs_are_changed_after_a_preview(
    console: TestClient, kafka: KafkaCluster, topic: TopicName
) -> None:
    path = f"/topics/{topic}/alter"
    entered = {"settings": "retention.ms=3600000\nmax.message.bytes=2000"}

    question = asked(console, path, **entered)
    assert question["preview"] == {
        "head": ["Config", "Now", "Then"],
        "rows": [
            ["retention.ms", "604800000 (default)", "3600000"],
            ["max.message.bytes", "1048588 (default)", "2000"],
        ],
    }
    assert len(question["warnings"]) == 1  # type: ignore[arg-type]  # JSON
    assert described(kafka, topic).config("retention.ms") == "604800000"

    assert answered(console, path, **entered).status_code == 303
    assert described(kafka, topic).config("retention.ms") == "3600000"
    eventually(lambda: has_sampled(console, topic, "retention_seconds", 3600), within_seconds=30)

    assert answered(console, path, removals="retention.ms").status_code == 303
    assert described(kafka, topic).config("retention.ms") == "604800000"
    configs = console.get(f"/topics/{topic}/configs", headers=JSON).json()["configs"]
    assert (configs["items"][0]["name"], configs["items"][0]["source"]) == (
        "max.message.bytes",
        "topic",
    )


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({}, "there is nothing to set"),
        ({"settings": "retention.ms"}, "is not like retention.ms=3600000"),
        ({"settings": "retention.ms=1", "removals": "retention.ms"}, "is named twice"),
        ({"settings": "retention.ms=soon"}, "soon"),
    ],
)
def test_what_makes_no_sense_is_told(
    console: TestClient, topic: TopicName, entered: dict[str, str], told: str
) -> None:
    page = console.get(f"/topics/{topic}/alter", params={"_ask": "1", **entered}, headers=JSON)

    assert page.status_code >= 400
    assert told in page.json()["message"]


def test_partitions_are_added_only_knowing_that_keys_move(
    console: TestClient, kafka: KafkaCluster, written: TopicName
) -> None:
    path = f"/topics/{written}/partitions"

    warned = asked(console, path, partitions="5")
    assert warned["button"] is None
    assert "keys" in str(warned["warnings"])
    refused = answered(console, path, partitions="5")
    assert refused.status_code == 409
    assert len(described(kafka, written).partitions) == 3

    meant = asked(console, path, partitions="5", allow_key_move="true")
    assert (meant["button"], meant["is_dangerous"]) == ("Add partitions", True)
    done = answered(console, path, partitions="5", allow_key_move="true")
    assert done.status_code == 303
    assert len(described(kafka, written).partitions) == 5


def test_exactly_the_records_that_were_shown_are_deleted(
    console: TestClient, kafka: KafkaCluster, written: TopicName
) -> None:
    path = f"/topics/{written}/purge"
    answer = console.get(path, params={"_ask": "1", "up_to": "everything"}, headers=JSON).json()
    assert answer["question"]["preview"]["rows"] == [
        [str(number), "0", "10", "10"] for number in range(3)
    ]
    with Producer(kafka.connection) as producer:
        producer.send(written, b"later", partition=0)

    settled = answer["question"]["settled"]["plan"]
    assert answered(console, path, up_to="everything", plan=settled).status_code == 303

    bounds = [(item.first, item.end) for item in described(kafka, written).partitions]
    assert bounds == [(10, 11), (10, 10), (10, 10)]
    # Firsts are else asked once a minute.
    eventually(lambda: has_sampled(console, written, "offsets", 1), within_seconds=15)


def test_records_are_deleted_up_to_an_offset_in_one_partition(
    console: TestClient, kafka: KafkaCluster, written: TopicName
) -> None:
    entered = {"up_to": "offset", "value": "4", "partition": "1"}

    assert answered(console, f"/topics/{written}/purge", **entered).status_code == 303

    assert [item.first for item in described(kafka, written).partitions] == [0, 4, 0]


def test_a_topic_is_deleted_for_good(console: TestClient, written: TopicName) -> None:
    question = asked(console, f"/topics/{written}/delete")
    assert question["is_dangerous"]
    assert question["preview"]["rows"] == [  # type: ignore[index]  # JSON
        [str(number), "0", "10", "10"] for number in range(3)
    ]

    assert answered(console, f"/topics/{written}/delete").status_code == 303

    eventually(lambda: console.get(f"/topics/{written}").status_code == 404, within_seconds=30)


@pytest.mark.parametrize(
    ("action", "entered"),
    [
        ("delete", {}),
        ("purge", {"up_to": "everything"}),
        ("alter", {"settings": "retention.ms=1"}),
        ("partitions", {"partitions": "99"}),
    ],
)
def test_internal_topics_stay_as_they_are(
    console: TestClient, action: str, entered: dict[str, str]
) -> None:
    answer = console.post(f"/topics/__consumer_offsets/{action}", json=entered, headers=JSON)

    assert answer.json()["code"] == "PEN-421"


def test_names_and_values_of_configs_are_shown_and_not_run(
    console: TestClient, topic: TopicName
) -> None:
    hostile = "<script>alert(1)</script>"

    pages = [
        console.get("/topics", params={"q": hostile}),
        console.get(f"/topics/{topic}/configs", params={"q": hostile}),
        console.get(f"/topics/{topic}/alter", params={"_ask": "1", "settings": hostile}),
        console.get(f"/topics/{hostile}"),
    ]

    assert [page for page in pages if hostile in page.text] == []
    assert all("&lt;script&gt;" in page.text for page in pages)


def test_an_operator_sees_topics_and_changes_none(
    kafka: KafkaCluster, topic: TopicName, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("guarded")
    token, line = token_line("carol", Role.OPERATOR)
    (folder / "users").write_text(f"{line}\n")
    headers = {"Authorization": f"Bearer {token}"}
    with running_console(kafka.connection, folder, users=load_users(folder / "users")) as client:
        page = client.get(f"/topics/{topic}", headers=headers)
        refused = client.post(f"/topics/{topic}/delete", headers={**headers, **JSON})

    assert page.status_code == 200
    assert "/delete" not in page.text
    assert (refused.status_code, refused.json()["code"]) == (403, "PEN-775")
