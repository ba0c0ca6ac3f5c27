"""`penstock topics` against a real broker: output, streams, status, `--json`, wrong input."""

from __future__ import annotations

import os
import pty
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from support.commands import PENSTOCK, Outcome
from support.in_process import PenstockInProcess
from support.producing import KEEP, Sent, send

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})


def new_name() -> str:
    return f"test-{uuid4().hex}"


def lines(done: Outcome) -> list[list[str]]:
    """Return the words of each line of the output."""
    return [line.split() for line in done.stdout.splitlines()]


def failed(done: Outcome) -> tuple[int, str, str]:
    return done.status, done.stdout, done.stderr


def test_a_topic_is_created_and_listed(penstock: PenstockInProcess) -> None:
    name = new_name()

    created = penstock("topics", "create", name, "--partitions", "3")
    listed = penstock("topics", "list", f"{name}*")

    assert created == Outcome(0, f"{name}: created, 3 partitions, replication 1\n", "")
    assert lines(listed) == [
        ["TOPIC", "PARTITIONS", "REPLICAS", "IN", "SYNC", "OFFSETS", "ON", "DISK", "CLEANUP"],
        [name, "3", "1", "all", "0", "0", "B", "delete"],
    ]


def test_a_list_as_json_has_every_field(penstock: PenstockInProcess, topic: TopicName) -> None:
    listed = penstock("topics", "list", topic, "--json").json

    assert [entry | {"topic_id": "…"} for entry in listed] == [
        {
            "name": topic,
            "topic_id": "…",
            "internal": False,
            "partitions": 3,
            "replication_factor": 1,
            "under_replicated": 0,
            "offline": 0,
            "offsets": 0,
            "size_bytes": 0,
            "disk_bytes": 0,
            "cleanup_policy": "delete",
        }
    ]


def test_internal_topics_are_listed_on_request(penstock: PenstockInProcess) -> None:
    assert penstock("topics", "list", "_penstock.probe", "--json").json == []
    listed = penstock("topics", "list", "_penstock.*", "--internal", "--json").json
    assert "_penstock.probe" in [entry["name"] for entry in listed]


def test_a_topic_is_described_with_partitions_and_configs(
    penstock: PenstockInProcess, kafka: KafkaCluster
) -> None:
    name = kafka.create_topic(new_name(), partition_count=2, config={"retention.ms": "86400000"})
    send(kafka.connection, name, [Sent(partition=1) for _ in range(4)])

    done = penstock("topics", "describe", name, "--rate-window", "100ms")
    as_json = penstock("topics", "describe", name, "--rate-window", "0", "--json").json[0]

    printed = lines(done)
    assert printed[0][0] == name
    assert printed[1][-5:] == ["0.0", "records/s", "over", "0.1", "s"]
    assert [row[:7] for row in printed[4:6]] == [
        ["0", "1", "1", "1", "0", "0", "0"],
        ["1", "1", "1", "1", "0", "4", "4"],
    ]
    assert ["retention.ms", "86400000", "topic"] in printed
    assert [
        {field: partition[field] for field in ("partition", "leader", "first_offset", "end_offset")}
        for partition in as_json["partitions"]
    ] == [
        {"partition": 0, "leader": 1, "first_offset": 0, "end_offset": 0},
        {"partition": 1, "leader": 1, "first_offset": 0, "end_offset": 4},
    ]
    assert as_json["records_per_second"] is None
    assert {
        "name": "retention.ms",
        "value": "86400000",
        "source": "topic",
        "read_only": False,
        "sensitive": False,
    } in as_json["configs"]


def test_all_configs_are_shown_on_request(penstock: PenstockInProcess, topic: TopicName) -> None:
    asked = ("topics", "describe", topic, "--rate-window", "0", "--json")

    some = penstock(*asked).json[0]["configs"]
    every = penstock(*asked, "--all-configs").json[0]["configs"]

    assert [entry for entry in some if entry["source"] == "default"] == []
    assert len(every) > 30


def test_an_unknown_topic_is_answered_with_the_nearest_name(
    penstock: PenstockInProcess, topic: TopicName
) -> None:
    wrong = topic[:-1]

    assert failed(penstock("topics", "describe", wrong)) == (
        1,
        "",
        f"error[PEN-402]: topic `{wrong}` does not exist\n\nhint: did you mean `{topic}`?\n",
    )


def test_an_error_is_json_too_when_json_was_asked_for(penstock: PenstockInProcess) -> None:
    done = penstock("topics", "describe", "no-such-topic", "--json")

    assert (done.status, done.json["error"]["code"]) == (1, "PEN-402")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["create", "a b"], 2, "PEN-413"),
        (["create", "x", "--replication", "3"], 2, "PEN-414"),
        (["create", "x", "--assign", "0=7"], 2, "PEN-415"),
        (["create", "x", "--config", "retention.mss=1"], 2, "PEN-416"),
        (["create", "x", "--assign", "1=1"], 2, "PEN-417"),
        (["create", "x", "--config", "retention.ms=soon"], 1, "PEN-406"),
        (["create", "x", "--config", "a=1", "--config", "a=2"], 2, "PEN-920"),
        (["create", "x", "--partitions", "3", "--assign", "0=1"], 2, "PEN-923"),
        (["alter", "TOPIC"], 2, "PEN-921"),
        (["alter", "TOPIC", "--partitions", "2"], 2, "PEN-420"),
        (["alter", "TOPIC", "--set", "retention.mss=1"], 2, "PEN-416"),
        (["alter", "TOPIC", "--unset", "retention.mss"], 2, "PEN-416"),
        (["alter", "TOPIC", "--set", "retention.ms=soon"], 1, "PEN-426"),
        (["alter", "no-such-topic", "--partitions", "9"], 1, "PEN-402"),
        (["delete", "no-such-topic", "--yes"], 1, "PEN-402"),
        (["delete", "_penstock.probe", "--yes"], 2, "PEN-421"),
        (["purge", "TOPIC", "--yes"], 2, "PEN-922"),
        (["purge", "TOPIC", "--all", "--before-offset", "1", "--yes"], 2, "PEN-922"),
        (["purge", "TOPIC", "--before-offset", "1", "--yes"], 2, "PEN-424"),
        (["purge", "TOPIC", "--all", "--partition", "9", "--yes"], 1, "PEN-411"),
        (["purge", "no-such-topic", "--all", "--yes"], 1, "PEN-402"),
        (["describe", "TOPIC", "no-such-topic"], 1, "PEN-402"),
        (["list", "--bootstrap", "kafka:port"], 2, "PEN-410"),
        (["list", "--bootstrap", "127.0.0.1:1"], 1, "PEN-401"),
        (["unused", "--bootstrap", "127.0.0.1:1"], 1, "PEN-401"),
        (["create"], 2, "PEN-930"),
        (["create", "x", "--partitions", "0"], 2, "PEN-930"),
        (["create", "x", "--assign", "one"], 2, "PEN-930"),
        (["create", "x", "--config", "retention.ms"], 2, "PEN-930"),
        (["describe"], 2, "PEN-930"),
        (["describe", "x", "--rate-window", "long"], 2, "PEN-930"),
        (["delete"], 2, "PEN-930"),
        (["purge", "x", "--before-offset", "-1"], 2, "PEN-930"),
        (["purge", "x", "--before-time", "yesterday"], 2, "PEN-930"),
        (["unused", "--days", "-1"], 2, "PEN-930"),
        (["grow"], 2, "PEN-931"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_wrong_input_is_one_sentence_and_a_hint(
    penstock: PenstockInProcess, topic: TopicName, arguments: list[str], status: int, code: str
) -> None:
    given = [topic if argument == "TOPIC" else argument for argument in arguments]

    done = penstock("topics", *given)

    message, blank, hint = done.stderr.splitlines()
    assert (done.status, done.stdout, blank) == (status, "", "")
    assert message.startswith(f"error[{code}]: ")
    assert hint.startswith("hint: ")


def test_a_topic_that_exists_is_accepted_on_request(
    penstock: PenstockInProcess, topic: TopicName
) -> None:
    again = penstock("topics", "create", topic)
    accepted = penstock("topics", "create", topic, "--if-not-exists", "--partitions", "9")

    assert (again.status, again.stderr.split(":")[0]) == (1, "error[PEN-418]")
    assert accepted == Outcome(0, f"{topic}: already there, 3 partitions, replication 1\n", "")


def test_an_alteration_prints_old_and_new(penstock: PenstockInProcess, topic: TopicName) -> None:
    grown = penstock("topics", "alter", topic, "--partitions", "8")
    limited = penstock("topics", "alter", topic, "--set", "max.message.bytes=64000")
    freed = penstock("topics", "alter", topic, "--unset", "max.message.bytes", "--json")

    assert grown == Outcome(0, f"{topic}: partitions 3 → 8\n", "")
    assert limited == Outcome(
        0, f"{topic}: max.message.bytes 1048588 (default) → 64000 (topic)\n", ""
    )
    config = {"name": "max.message.bytes", "read_only": False, "sensitive": False}
    assert freed.json == {
        "name": topic,
        "partitions": {"old": 8, "new": 8},
        "keys_moved": None,
        "configs": [
            {
                "name": "max.message.bytes",
                "old": config | {"value": "64000", "source": "topic"},
                "new": config | {"value": "1048588", "source": "default"},
            }
        ],
    }


def test_growth_that_moves_keys_needs_permission(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(key=str(number)) for number in range(1000)])

    refused = penstock("topics", "alter", topic, "--partitions", "8")
    allowed = penstock("topics", "alter", topic, "--partitions", "8", "--allow-key-move")

    assert (refused.status, refused.stdout) == (1, "")
    assert "869 of 1000 keys (87%)" in refused.stderr
    assert allowed == Outcome(
        0,
        f"{topic}: partitions 3 → 8\n",
        f"{topic}: 869 of 1000 sampled keys (87%) now belong to another partition\n",
    )


def test_deleting_shows_what_goes_and_needs_consent(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent() for _ in range(7)])

    asked = penstock("topics", "delete", topic)
    done = penstock("topics", "delete", topic, "--yes")
    again = penstock("topics", "delete", topic, "--yes", "--json")

    assert (asked.status, asked.stderr.split(":")[0]) == (2, "error[PEN-901]")
    assert lines(asked)[1][:3] == [topic, "3", "7"]
    assert (done.status, done.stderr) == (0, f"deleted topic `{topic}`\n")
    assert (again.status, again.json["error"]["code"]) == (1, "PEN-402")


@pytest.mark.parametrize(
    ("answer", "status", "outcome", "survives"),
    [
        ("n", 1, "nothing was done", True),
        ("y", 0, "deleted topic `{topic}`", False),
    ],
    ids=["no", "yes"],
)
def test_on_a_terminal_deleting_asks(
    penstock: PenstockInProcess,
    connection: Connection,
    topic: TopicName,
    answer: str,
    status: int,
    outcome: str,
    survives: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    outer, inner = pty.openpty()
    os.write(outer, f"{answer}\n".encode())

    done = subprocess.run(
        [PENSTOCK, "topics", "delete", topic, "--bootstrap", connection.bootstrap],
        stdin=inner,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    os.close(inner)
    os.close(outer)

    question = f"This will delete topic `{topic}` with all records. Go on? [y/N]: "
    assert (done.returncode, "".join(done.stderr.splitlines())) == (
        status,
        question + outcome.format(topic=topic),
    )
    listed = penstock("topics", "list", topic, "--json").json
    assert [entry["name"] for entry in listed] == ([topic] if survives else [])


def test_a_purge_shows_what_goes_and_needs_consent(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    send(connection, topic, [Sent(partition=0) for _ in range(10)])
    purge = ("topics", "purge", topic, "--before-offset", "4")

    asked = penstock(*purge)
    done = penstock(*purge, "--yes")
    again = penstock(*purge, "--yes", "--json")

    assert (asked.status, asked.stderr.split(":")[0]) == (2, "error[PEN-901]")
    assert lines(asked)[1] == ["0", "0", "4", "10", "4"]
    assert (done.status, done.stderr) == (0, f"deleted 4 offsets of topic `{topic}`\n")
    assert again.json["partitions"][0] == {
        "partition": 0,
        "first_offset": 4,
        "new_first_offset": 4,
        "end_offset": 10,
    }


def test_a_purge_by_time_keeps_later_records(
    penstock: PenstockInProcess, kafka: KafkaCluster
) -> None:
    topic = kafka.create_topic(new_name(), partition_count=3, config=KEEP)
    moments = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    send(kafka.connection, topic, [Sent(partition=2, timestamp=moment) for moment in moments])

    done = penstock("topics", "purge", topic, "--before-time", "2026-01-03T00:00:00Z", "--yes")

    assert (done.status, lines(done)[3]) == (0, ["2", "0", "2", "3", "2"])


def test_a_compacted_topic_is_not_purged(penstock: PenstockInProcess, kafka: KafkaCluster) -> None:
    name = kafka.create_topic(new_name(), config={"cleanup.policy": "compact"})

    done = penstock("topics", "purge", name, "--all", "--yes")

    assert (done.status, done.stderr.split(":")[0]) == (1, "error[PEN-423]")


def test_unused_topics_are_listed(penstock: PenstockInProcess, kafka: KafkaCluster) -> None:
    old, empty = (kafka.create_topic(new_name(), config=KEEP) for _ in range(2))
    send(kafka.connection, old, [Sent(timestamp=datetime(2026, 1, 1, tzinfo=UTC))])

    rows = lines(penstock("topics", "unused", "--days", "30"))
    as_json = penstock("topics", "unused", "--json").json

    assert [row for row in rows if row[0] in (old, empty)] == sorted(
        [[old, "1", "2026-01-01T00:00:00+00:00"], [empty, "1", "empty"]]
    )
    assert [entry for entry in as_json if entry["name"] == old] == [
        {"name": old, "partitions": 1, "newest_record": "2026-01-01T00:00:00+00:00"}
    ]
