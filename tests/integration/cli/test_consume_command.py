"""`penstock consume` against a real broker: what is printed, on which stream, with which status."""

from __future__ import annotations

import json
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import confluent_kafka
import pytest

from penstock.kafka import (
    Admin,
    Connection,
    Header,
    OutgoingRecord,
    Producer,
    TopicPartition,
    committed_offsets,
)
from penstock.names import GroupId, Partition, TopicName
from support.commands import PENSTOCK, Penstock
from support.in_process import PenstockInProcess
from support.producing import KEEP
from support.topic_contents import await_commits, topic_contents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})


@pytest.fixture
def topic(kafka: KafkaCluster) -> TopicName:
    """A topic of the test's own that keeps old records."""
    return kafka.create_topic(f"test-{uuid4().hex}", partition_count=3, config=KEEP)


@pytest.fixture(scope="module")
def numbers(kafka: KafkaCluster) -> TopicName:
    """Three partitions; record n is in partition n % 3 and was written n minutes after noon.

    The tests of this module only read it.
    """
    topic = kafka.create_topic(f"test-{uuid4().hex}", partition_count=3, config=KEEP)
    send(kafka.connection, [numbered(topic, number) for number in range(12)])
    return topic


def numbered(topic: TopicName, number: int) -> OutgoingRecord:
    return OutgoingRecord(
        topic=topic,
        key=f"k{number}".encode(),
        value=json.dumps({"n": number, "user": {"name": "ann" if number % 2 else "bob"}}).encode(),
        partition=Partition(number % 3),
        timestamp=NOON + timedelta(minutes=number),
    )


def send(connection: Connection, records: Sequence[OutgoingRecord]) -> None:
    with Producer(connection) as producer:
        for record in records:
            producer.send_record(record)


def found(stdout: str) -> list[int]:
    """Return the numbers of the records that were printed, in the order of printing."""
    return [json.loads(line)["n"] for line in stdout.splitlines()]


def committed(connection: Connection, group: str, topic: TopicName) -> list[int | None]:
    with Admin(connection) as admin:
        offsets = committed_offsets(admin, [GroupId(group)])[GroupId(group)]
    wanted = [offsets.get(TopicPartition(topic, Partition(number))) for number in range(3)]
    return [None if item is None else item.offset for item in wanted]


def test_the_first_steps_of_the_help_text_work(
    penstock: PenstockInProcess, numbers: TopicName
) -> None:
    done = penstock("consume", numbers, "--from", "beginning", "--limit", "5")
    assert (done.status, len(found(done.stdout))) == (0, 5)
    assert done.stderr == "5 records; limit reached\n"


def test_without_follow_everything_up_to_the_end_is_read(
    penstock: PenstockInProcess, numbers: TopicName
) -> None:
    done = penstock("consume", numbers)
    assert (done.status, sorted(found(done.stdout))) == (0, list(range(12)))
    assert done.stderr == "12 records; end reached\n"


def test_values_are_printed_byte_for_byte(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    values = [b"plain", b"\xff\x00\x1b[31m", b"", None, "grün".encode()]
    records = [
        OutgoingRecord(topic=topic, key=None, value=value, partition=Partition(1))
        for value in values
    ]
    send(connection, records)
    done = penstock("consume", topic)
    assert done.stdout.encode("utf-8", "surrogateescape") == (
        b"plain\n\xff\x00\x1b[31m\n\nnull\ngr\xc3\xbcn\n"
    )


def test_json_and_details_hold_all_of_a_record(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    record = OutgoingRecord(
        topic=topic,
        key=b"\xfe",
        value=None,
        headers=(Header("trace", b"1"), Header("trace", None), Header("raw", b"\xff")),
        partition=Partition(2),
        timestamp=NOON,
    )
    send(
        connection,
        [record, OutgoingRecord(topic=topic, key=None, value=b"", partition=Partition(2))],
    )
    first, second = penstock("consume", topic, "--json").stdout.splitlines()
    assert json.loads(first) == {
        "topic": topic,
        "partition": 2,
        "offset": 0,
        "timestamp": "2026-05-01T12:00:00.000+00:00",
        "key_base64": "/g==",
        "value": None,
        "headers": [
            {"name": "trace", "value": "1"},
            {"name": "trace", "value": None},
            {"name": "raw", "value_base64": "/w=="},
        ],
    }
    assert {key: json.loads(second)[key] for key in ("offset", "key", "value")} == {
        "offset": 1,
        "key": None,
        "value": "",
    }
    details = penstock("consume", topic, "--details", "--limit", "1").stdout
    assert details.encode("utf-8", "surrogateescape") == (
        topic.encode()
        + b"\t2\t0\t2026-05-01T12:00:00.000+00:00\t\xfe\ttrace=1,trace=null,raw=\xff\tnull\n"
    )


def test_what_json_prints_is_produced_again_byte_for_byte(
    penstock: PenstockInProcess, kafka: KafkaCluster, topic: TopicName
) -> None:
    copy = kafka.create_topic(f"test-{uuid4().hex}", partition_count=3, config=KEEP)
    contents = [b"plain", b"", None, b"\xff\x00\n", "grün\u2028".encode(), b'{"n": 1}']
    records = [
        OutgoingRecord(
            topic=topic,
            key=contents[-1 - number],
            value=value,
            headers=(Header("trace", value), Header("trace", b"\xfe")),
            partition=Partition(number % 3),
            timestamp=NOON + timedelta(milliseconds=number),
        )
        for number, value in enumerate(contents)
    ]
    send(kafka.connection, records)

    lines = penstock("consume", topic, "--json").stdout
    done = penstock("produce", copy, "--format", "records", stdin=lines)

    assert done.status == 0
    original, copied = (
        [
            (item.key, item.value, item.headers, item.timestamp_ms)
            for item in sorted(topic_contents(kafka.bootstrap, name), key=lambda i: i.timestamp_ms)
        ]
        for name in (topic, copy)
    )
    assert len(original) == len(contents)
    assert copied == original


def test_columns_are_those_asked_for(penstock: PenstockInProcess, numbers: TopicName) -> None:
    done = penstock("consume", numbers, "--partition", "1", "--show", "offset,key", "--limit", "2")
    assert done.stdout == (
        '0\tk1\t{"n": 1, "user": {"name": "ann"}}\n1\tk4\t{"n": 4, "user": {"name": "bob"}}\n'
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--from", "end"], []),
        (["--last", "5"], [7, 8, 9, 10, 11]),
        (["--last", "50"], list(range(12))),
        (["--last", "2", "--partition", "0"], [6, 9]),
        (["--partition", "2", "--from", "offset:2"], [8, 11]),
        (["--partition", "2", "--from", "offset:4"], []),
        (["--partition", "0", "--from", "2026-05-01T12:04:00Z"], [6, 9]),
        (["--from", "2030-01-01"], []),
        (["--last", "1", "--limit", "1"], [11]),
    ],
)
def test_reading_begins_where_it_shall(
    penstock: PenstockInProcess, numbers: TopicName, options: list[str], expected: list[int]
) -> None:
    done = penstock("consume", numbers, *options)
    assert (done.status, found(done.stdout)) == (0, expected)


def test_several_partitions_and_topics_can_be_chosen(
    penstock: PenstockInProcess, kafka: KafkaCluster, numbers: TopicName
) -> None:
    stem = f"{numbers}-{uuid4().hex[:8]}"
    other = kafka.create_topic(f"{stem}-more", partition_count=3, config=KEEP)
    send(kafka.connection, [numbered(other, number) for number in (100, 101, 102)])

    by_name = penstock("consume", numbers, other, "--partition", "0", "--partition", "1")
    by_pattern = penstock("consume", "--regex", f"{stem}-.*")

    assert sorted(found(by_name.stdout)) == [0, 1, 3, 4, 6, 7, 9, 10, 100, 102]
    assert sorted(found(by_pattern.stdout)) == [100, 101, 102]


@pytest.mark.parametrize(
    ("options", "expected", "matched"),
    [
        (["--where", "/n >= 9"], [9, 10, 11], "3 of 12 records match; end reached\n"),
        (
            ["--where", "/n < 6", "--where", '/user/name = "ann"'],
            [1, 3, 5],
            "3 of 12 records match; end reached\n",
        ),
        (["--grep", '"n": 1'], [1, 10, 11], "3 of 12 records match; end reached\n"),
        (["--grep", "zoe"], [], "0 of 12 records match; end reached\n"),
    ],
)
def test_filters_keep_what_matches_and_count_what_was_scanned(
    penstock: PenstockInProcess,
    numbers: TopicName,
    options: list[str],
    expected: list[int],
    matched: str,
) -> None:
    done = penstock("consume", numbers, *options)
    assert (done.status, sorted(found(done.stdout)), done.stderr) == (0, expected, matched)


def test_the_limit_counts_what_matches(penstock: PenstockInProcess, numbers: TopicName) -> None:
    done = penstock("consume", numbers, "--partition", "0", "--where", "/n > 3", "--limit", "1")
    assert (found(done.stdout), done.stderr) == ([6], "1 of 3 records match; limit reached\n")


def test_a_group_reads_on_where_it_committed(
    penstock: PenstockInProcess, connection: Connection, numbers: TopicName
) -> None:
    group = f"group-{uuid4().hex}"
    first = penstock("consume", numbers, "--group", group, "--limit", "5")
    second = penstock("consume", numbers, "--group", group)
    third = penstock("consume", numbers, "--group", group)

    assert sorted(found(first.stdout) + found(second.stdout)) == list(range(12))
    assert first.stderr == f"5 records, committed for group `{group}`; limit reached\n"
    assert second.stderr == f"7 records, committed for group `{group}`; end reached\n"
    assert third.stderr == f"0 records, committed for group `{group}`; end reached\n"
    assert committed(connection, group, numbers) == [4, 4, 4]


def test_without_a_group_nothing_is_committed(
    penstock: PenstockInProcess, numbers: TopicName
) -> None:
    before = penstock("groups", "list", "--json").json
    penstock("consume", numbers)
    assert penstock("groups", "list", "--json").json == before


def test_transactions_are_read_as_the_isolation_says(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    """Two committed records, then twenty aborted ones: `--last` must look further back."""
    transact(connection, topic, [0, 1], commit=True)
    transact(connection, topic, list(range(2, 22)), commit=False)

    last = penstock("consume", topic, "--last", "2")
    everything = penstock("consume", topic, "--isolation", "read_uncommitted")

    assert (last.status, found(last.stdout)) == (0, [0, 1])
    assert found(penstock("consume", topic).stdout) == [0, 1]
    assert found(everything.stdout) == list(range(22))


def transact(
    connection: Connection, topic: TopicName, numbers: Sequence[int], *, commit: bool
) -> None:
    producer = confluent_kafka.Producer(
        {**connection.client_config(), "transactional.id": uuid4().hex, "log_level": 0}
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    for number in numbers:
        producer.produce(topic, json.dumps({"n": number}), partition=0)
    producer.flush(20)
    if commit:
        producer.commit_transaction(20)
    else:
        producer.abort_transaction(20)
    await_commits(connection, topic)


def test_a_timeout_ends_following_when_nothing_comes(
    penstock: PenstockInProcess, numbers: TopicName
) -> None:
    done = penstock("consume", numbers, "--last", "2", "--follow", "--timeout", "3s")
    assert (done.status, found(done.stdout)) == (0, [10, 11])
    assert done.stderr == "2 records; nothing more came in time\n"


def test_ctrl_c_ends_following_cleanly_and_commits(
    connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    """A new record comes while the command follows; then Ctrl-C."""
    send(connection, [numbered(topic, number) for number in range(12)])
    group = f"group-{uuid4().hex}"
    command = Penstock(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})
    process = command.start("consume", topic, "--follow", "--group", group, "--from", "beginning")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(12)]
    send(connection, [numbered(topic, 12)])
    lines.append(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=30)

    assert (process.returncode, rest) == (0, "")
    assert errors == f"13 records, committed for group `{group}`; stopped\n"
    assert sorted(found("".join(lines))) == list(range(13))
    assert committed(connection, group, topic) == [5, 4, 4]


def test_following_finds_topics_that_come_to_match(kafka: KafkaCluster, tmp_path: Path) -> None:
    prefix = f"test-{uuid4().hex}"
    first = kafka.create_topic(f"{prefix}-1", partition_count=3, config=KEEP)
    command = Penstock(tmp_path, {"PENSTOCK_BOOTSTRAP": kafka.bootstrap})
    process = command.start("consume", "--regex", f"{prefix}-.*", "-f", "--from", "beginning")
    assert process.stdout is not None
    send(kafka.connection, [numbered(first, 1)])
    lines = [process.stdout.readline()]
    second = kafka.create_topic(f"{prefix}-2", partition_count=3, config=KEEP)
    send(kafka.connection, [numbered(second, 2)])
    lines.append(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=30)
    assert (process.returncode, found("".join(lines))) == (0, [1, 2])


def test_a_reader_that_goes_away_is_no_fault(
    connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    send(connection, [numbered(topic, number) for number in range(3000)])
    done = subprocess.run(
        ["bash", "-c", f"{PENSTOCK} consume {topic} | head -n 1; echo ${{PIPESTATUS[0]}}"],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PENSTOCK_BOOTSTRAP": connection.bootstrap,
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    line, status = done.stdout.splitlines()
    assert (len(found(line)), status, done.stderr) == (1, "0", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["{topic}x"], "error[PEN-402]: topic `{topic}x` does not exist\n\nhint: did you mean"),
        (["--regex", "nothing-{topic}"], "error[PEN-498]: no topic matches `nothing-{topic}`"),
        (["{topic}", "--partition", "3"], "error[PEN-411]: topic `{topic}` has no partition 3"),
        (["{topic}", "--partition", "-1"], "error[PEN-411]: topic `{topic}` has no partition -1"),
        (
            ["{topic}", "--partition", "0", "--from", "offset:5"],
            "error[PEN-499]: `{topic}-0` has no offset 5: it holds offsets 0 to 3, and the next "
            "will be 4\n",
        ),
    ],
)
def test_what_is_not_there_is_named(
    penstock: PenstockInProcess, numbers: TopicName, options: list[str], message: str
) -> None:
    done = penstock("consume", *(option.format(topic=numbers) for option in options))
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith(message.format(topic=numbers))


def test_an_offset_for_several_partitions_is_refused(
    penstock: PenstockInProcess, numbers: TopicName
) -> None:
    done = penstock("consume", numbers, "--from", "offset:1")
    assert done.status == 2
    assert done.stderr == (
        "error[PEN-950]: an offset means something in one partition, and these are 3\n\n"
        "hint: choose one with `--partition`\n"
    )
