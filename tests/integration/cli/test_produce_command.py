"""`penstock produce` against a real broker: what arrives, what is said, and what is put aside."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from penstock.kafka import partition_for_key
from penstock.local.cluster import KafkaCluster
from support.commands import PENSTOCK
from support.in_process import PenstockInProcess
from support.topic_contents import Stored, topic_contents, values_by_partition
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kafka import Connection
    from penstock.names import TopicName

# Records from longer ago than a topic keeps them would go while a test looks at them.
MOMENT_MS = int(time.time() - 3600) * 1000 + 250
SUMMARY = re.compile(
    r"(\d+) records? delivered to \S+ in \d+\.\d\d s: [\d,]+ records/s, .* k?B\n"
    r"latency: p50 [\d.]+ ms, p95 [\d.]+ ms, p99 [\d.]+ ms, longest [\d.]+ ms\n"
)


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})


@pytest.fixture
def single(kafka: KafkaCluster) -> TopicName:
    """A topic with one partition, where order is plain to see."""
    return kafka.create_topic(f"single-{uuid4().hex}")


@pytest.fixture
def small(kafka: KafkaCluster) -> TopicName:
    """A topic that takes records of at most 200,000 bytes."""
    return kafka.create_topic(f"small-{uuid4().hex}", config={"max.message.bytes": "200000"})


def values(connection: Connection, topic: str) -> list[bytes | None]:
    return [record.value for record in topic_contents(connection.bootstrap, topic)]


def put_aside(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_of_stdin_arrive_and_the_summary_has_counts_rate_and_latency(
    penstock: PenstockInProcess, connection: Connection, single: TopicName, tmp_path: Path
) -> None:
    texts = [f"Hello this is record {i}" for i in range(200)]

    done = penstock("produce", single, stdin="\n".join(texts) + "\n")

    assert (done.status, done.stdout) == (0, "")
    match = SUMMARY.fullmatch(done.stderr)
    assert match is not None, done.stderr
    assert match[1] == "200"
    assert values(connection, single) == [text.encode() for text in texts]
    assert list(tmp_path.iterdir()) == []


def test_json_prints_the_summary_for_programs(
    penstock: PenstockInProcess, single: TopicName
) -> None:
    done = penstock("produce", single, "--json", stdin="ab\ncd\n")

    latency = done.json["latency_seconds"]
    assert done.json == {
        "topic": single,
        "delivered": 2,
        "failed": 0,
        "wrong_lines": 0,
        "bytes": 4,
        "seconds": done.json["seconds"],
        "records_per_second": done.json["records_per_second"],
        "latency_seconds": latency,
        "errors_file": None,
        "interrupted": False,
    }
    assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["maximum"]
    assert done.json["records_per_second"] > 0


def test_keys_by_separator_lead_to_the_partition_of_the_java_client(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName
) -> None:
    lines = [f"key-{number}|value|{number}" for number in range(20)]

    assert penstock("produce", topic, "--key-separator", "|", stdin="\n".join(lines)).status == 0

    found = {(r.partition, r.key, r.value) for r in topic_contents(connection.bootstrap, topic)}
    assert found == {
        (partition_for_key(b"key-%d" % n, 3), b"key-%d" % n, b"value|%d" % n) for n in range(20)
    }


def test_files_of_json_lines_with_keys_headers_partition_and_timestamp(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    (tmp_path / "one.jsonl").write_text('{"user": {"id": 7}}\n\n')
    (tmp_path / "two.jsonl").write_text('{"user": {"id": "ann"}}\n')

    options = ["--header", "source=test", "--header", "empty=", "--partition", "2"]
    done = penstock(
        "produce", topic, "one.jsonl", "two.jsonl", "--format", "json", "--key-pointer",
        "/user/id", *options, "--timestamp", str(MOMENT_MS),
    )  # fmt: skip

    assert done.status == 0
    headers = (("source", b"test"), ("empty", b""))
    assert topic_contents(connection.bootstrap, topic) == [
        Stored(
            partition=2,
            offset=offset,
            key=key,
            value=value,
            headers=headers,
            timestamp_ms=MOMENT_MS,
        )
        for offset, (key, value) in enumerate(
            [(b"7", b'{"user": {"id": 7}}'), (b"ann", b'{"user": {"id": "ann"}}')]
        )
    ]


def test_what_consume_prints_is_produced_again_byte_for_byte(
    penstock: PenstockInProcess, connection: Connection, single: TopicName, kafka: KafkaCluster
) -> None:
    copy = kafka.create_topic(f"copy-{uuid4().hex}")
    records: list[dict[str, object]] = [
        {"key": "a", "value": "grün\n", "headers": [{"name": "h", "value": "1"}]},
        {"key_base64": "/wA=", "value_base64": "gIE=", "headers": [{"name": "h", "value": None}]},
        {"key": None, "value": None, "headers": []},
        {"key": "", "value": "", "headers": [{"name": "h", "value_base64": "/w=="}]},
    ]
    lines = [json.dumps(record | {"timestamp": MOMENT_MS + n}) for n, record in enumerate(records)]
    assert penstock("produce", single, "--format", "records", stdin="\n".join(lines)).status == 0

    consumed = penstock("consume", single, "--from", "beginning", "--json").stdout
    assert penstock("produce", copy, "--format", "records", stdin=consumed).status == 0

    expected = [
        (b"a", "grün\n".encode(), (("h", b"1"),), MOMENT_MS),
        (b"\xff\x00", b"\x80\x81", (("h", None),), MOMENT_MS + 1),
        (None, None, (), MOMENT_MS + 2),
        (b"", b"", (("h", b"\xff"),), MOMENT_MS + 3),
    ]
    for name in (single, copy):
        found = topic_contents(connection.bootstrap, name)
        assert [(r.key, r.value, r.headers, r.timestamp_ms) for r in found] == expected


def test_a_chosen_text_becomes_a_tombstone(
    penstock: PenstockInProcess, connection: Connection, single: TopicName
) -> None:
    options = ["--key-separator", ":", "--null-value", ""]
    assert penstock("produce", single, *options, stdin="a:1\na:\n").status == 0

    assert values(connection, single) == [b"1", None]


@pytest.mark.parametrize("sending", ["fire", "sync", "async"])
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_three_ways_of_sending_with_every_acknowledgement(
    penstock: PenstockInProcess, connection: Connection, single: TopicName, sending: str, acks: str
) -> None:
    options = ["--sending", sending, "--acks", acks, "--json"]
    done = penstock("produce", single, *options, stdin="1\n2\n3\n")

    assert (done.status, done.json["delivered"]) == (0, 3)
    # With `acks=0` nobody says when the broker has them.
    eventually(lambda: values(connection, single) == [b"1", b"2", b"3"], within_seconds=10)


@pytest.mark.parametrize("sending", ["sync", "async"])
def test_failed_records_are_put_aside_and_can_be_sent_again(
    penstock: PenstockInProcess,
    connection: Connection,
    small: TopicName,
    tmp_path: Path,
    sending: str,
) -> None:
    large = "x" * 300_000
    lines = f"k|before\nk|{large}\nk|after\n"
    options = ["--key-separator", "|", "--compression", "none", "--sending", sending]

    done = penstock("produce", small, *options, "--header", "h=1", stdin=lines)

    errors = tmp_path / f"{small}.errors.jsonl"
    assert done.status == 1
    assert f"1 record failed, put aside in `{errors.name}`; the first: a record" in done.stderr
    assert f"`penstock produce {small} --format records {errors.name}` sends them" in done.stderr
    (entry,) = put_aside(errors)
    assert (entry["key"], entry["value"], entry["error"]["code"]) == ("k", large, "PEN-454")
    assert values(connection, small) == [b"before", b"after"]

    again = penstock("produce", small, errors.name, "--format", "records")
    assert again.status == 0
    assert [(r.key, r.value, r.headers) for r in topic_contents(connection.bootstrap, small)] == [
        (b"k", b"before", (("h", b"1"),)),
        (b"k", b"after", (("h", b"1"),)),
        (b"k", large.encode(), (("h", b"1"),)),
    ]


def test_fire_and_forget_counts_failures(
    penstock: PenstockInProcess, small: TopicName, tmp_path: Path
) -> None:
    options = ["--compression", "none", "--sending", "fire", "--json"]
    done = penstock("produce", small, *options, stdin="x" * 300_000)

    assert (done.status, done.json["failed"], done.json["errors_file"]) == (1, 1, None)
    assert "1 record failed; the first: a record for" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_record_too_large_for_the_client_is_put_aside_with_its_size(
    penstock: PenstockInProcess, connection: Connection, single: TopicName, tmp_path: Path
) -> None:
    done = penstock(
        "produce", single, "--errors-file", "bad.jsonl", stdin="x" * 1_000_001 + "\ny\n"
    )

    assert done.status == 1
    (entry,) = put_aside(tmp_path / "bad.jsonl")
    assert "it has 1000001 bytes, and this producer allows 1000000" in entry["error"]["message"]
    assert values(connection, single) == [b"y"]


def test_wrong_lines_are_put_aside_with_their_reason_and_the_others_are_sent(
    penstock: PenstockInProcess, connection: Connection, single: TopicName, tmp_path: Path
) -> None:
    lines = '{"id": 1}\nnot json\n{"other": 1}\n{"id": 2}\n'
    done = penstock("produce", single, "--format", "json", "--key-pointer", "/id", stdin=lines)

    errors = tmp_path / f"{single}.errors.jsonl"
    assert done.status == 1
    assert f"2 lines could not be understood, put aside in `{errors.name}`" in done.stderr
    assert [
        (entry["input"], entry["origin"], entry["error"]["code"]) for entry in put_aside(errors)
    ] == [("not json", "<stdin>:2", "PEN-940"), ('{"other": 1}', "<stdin>:3", "PEN-940")]
    assert values(connection, single) == [b'{"id": 1}', b'{"id": 2}']


def test_an_unknown_topic_is_found_before_anything_is_read(
    penstock: PenstockInProcess, topic: TopicName
) -> None:
    done = penstock("produce", f"{topic}x", stdin="1\n")

    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == (
        f"error[PEN-402]: topic `{topic}x` does not exist\n\nhint: did you mean `{topic}`?\n"
    )


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--partition", "7"], 1, "error[PEN-411]: topic `{topic}` has no partition 7"),
        (["--partition", "-1"], 2, "error[PEN-930]: "),
        (["--acks", "2"], 2, "error[PEN-930]: "),
        (["--sending", "maybe"], 2, "error[PEN-930]: "),
        (["--header", "nothing"], 2, "error[PEN-930]: "),
        (["--rate", "0"], 2, "error[PEN-930]: "),
        (["--linger", "soon"], 2, "error[PEN-930]: "),
        (["--timestamp", "soon"], 2, "error[PEN-930]: "),
        (["absent.txt"], 2, "error[PEN-930]: "),
        (["--key-pointer", "/id"], 2, "error[PEN-941]: `--key-pointer` goes with `--format json`"),
        (
            ["--format", "json", "--key-separator", "|"],
            2,
            "error[PEN-941]: `--key-separator` goes with `--format lines`, not `json`",
        ),
        (
            ["--format", "json", "--key-pointer", "user.id"],
            2,
            "error[PEN-941]: `user.id` is not a JSON pointer, which begins with `/`",
        ),
        (["--key-separator", ""], 2, "error[PEN-941]: `--key-separator` is empty"),
        (
            ["input.txt", "--errors-file", "input.txt"],
            2,
            "error[PEN-941]: `input.txt` is read, and cannot take the errors as well",
        ),
        (
            ["--errors-file", "absent/errors.jsonl"],
            2,
            "error[PEN-942]: errors file `absent/errors.jsonl` needs the folder `absent`",
        ),
        (["--linger", "20m"], 2, "error[PEN-461]: `linger_seconds` is 1200.0"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_wrong_usage_is_refused_and_nothing_is_sent(
    penstock: PenstockInProcess,
    connection: Connection,
    topic: TopicName,
    tmp_path: Path,
    options: list[str],
    status: int,
    message: str,
) -> None:
    (tmp_path / "input.txt").write_text("1\n")

    done = penstock("produce", topic, *options, stdin="1\n")

    assert (done.status, done.stdout) == (status, "")
    assert done.stderr.startswith(message.format(topic=topic))
    assert values_by_partition(connection.bootstrap, topic) == {}


def test_a_cluster_that_is_away_is_said_at_once(tmp_path: Path) -> None:
    done = PenstockInProcess(tmp_path, {})("produce", "orders", "--bootstrap", "127.0.0.1:1")

    assert done.status == 1
    assert done.stderr.startswith("error[PEN-401]: no Kafka broker answered at `127.0.0.1:1`")


def test_the_rate_is_kept(penstock: PenstockInProcess, single: TopicName) -> None:
    lines = "\n".join(str(number) for number in range(60))
    done = penstock("produce", single, "--rate", "50", "--json", stdin=lines)

    assert done.json["delivered"] == 60
    assert done.json["seconds"] >= 59 / 50


@pytest.fixture
def typing(
    connection: Connection, single: TopicName, tmp_path: Path
) -> Iterator[subprocess.Popen[str]]:
    """`penstock produce` with an input that does not end."""
    process = subprocess.Popen(
        [PENSTOCK, "produce", single, "--json", "--bootstrap", connection.bootstrap],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def test_ctrl_c_sends_what_was_read_and_says_so(
    typing: subprocess.Popen[str], connection: Connection, single: TopicName
) -> None:
    assert typing.stdin is not None
    typing.stdin.write("1\n2\n")
    typing.stdin.flush()
    eventually(lambda: values(connection, single) == [b"1", b"2"], within_seconds=60)

    typing.send_signal(signal.SIGINT)
    stdout, stderr = typing.communicate(timeout=60)

    summary = json.loads(stdout)
    assert (typing.returncode, summary["delivered"], summary["interrupted"]) == (130, 2, True)
    assert stderr.startswith("stopped; what was read before has been sent\n2 records delivered")


def interrupted_twice(process: subprocess.Popen[str]) -> tuple[list[str], dict[str, Any]]:
    """Press Ctrl-C, again after the first answer, and return stderr's lines and the summary."""
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, [first, stderr]
    return [first.rstrip(), *stderr.splitlines()], json.loads(stdout)


def test_a_second_ctrl_c_gives_up_and_puts_aside_what_a_dead_broker_did_not_take(
    tmp_path: Path,
) -> None:
    with KafkaCluster.start(brokers=1, data_dir=tmp_path / "broker") as cluster:
        topic = cluster.create_topic(f"single-{uuid4().hex}")
        arguments = [topic, "--format", "json", "--json", "--bootstrap", cluster.bootstrap]
        with ExitStack() as stack:
            kept, fired, waiting = (
                stack.enter_context(
                    subprocess.Popen(
                        [PENSTOCK, "produce", *arguments, "--sending", way, "--errors-file", way],
                        cwd=tmp_path,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
                for way in ("async", "fire", "sync")
            )
            stack.callback(kept.kill)
            stack.callback(fired.kill)
            stack.callback(waiting.kill)
            write(kept, "1\n")
            write(fired, "1\n")
            write(waiting, "1\n")
            eventually(lambda: values(cluster.connection, topic) == [b"1"] * 3, within_seconds=60)
            cluster.kill(cluster.broker_ids[0])
            write(waiting, "wrong\n2\n3\n")
            # The errors file begins with the wrong line: then the two before it are on their way.
            write(kept, "2\n3\nwrong\n")
            write(fired, "2\n3\nwrong\n")
            eventually((tmp_path / "async").exists, within_seconds=60)
            eventually((tmp_path / "fire").exists, within_seconds=60)
            eventually((tmp_path / "sync").exists, within_seconds=60)

            said, summary = interrupted_twice(kept)
            said_of_fired, summary_of_fired = interrupted_twice(fired)
            _, summary_of_waiting = interrupted_twice(waiting)

    stopping = "stopping: waiting for 2 records to be acknowledged; Ctrl-C again gives up"
    assert said[:2] == said_of_fired[:2] == [stopping, "stopped"]
    assert said[-1] == f"hint: `penstock produce {topic} --format records async` sends them again"
    assert [summary[name] for name in ("delivered", "failed", "errors_file")] == [1, 2, "async"]
    assert [summary_of_fired[name] for name in ("delivered", "failed")] == [1, 2]
    # One at a time: the second may or may not be on its way, the third is not read.
    assert summary_of_waiting["delivered"] == 1
    assert summary_of_waiting["failed"] in (0, 1)
    assert [entry.get("value", "") for entry in put_aside(tmp_path / "sync")] == ["", "2"]
    assert sorted(entry.get("value", "") for entry in put_aside(tmp_path / "async")) == [
        "", "2", "3",
    ]  # fmt: skip


def write(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def test_in_a_folder_that_cannot_be_written_only_what_fails_goes_to_the_temporary_folder(
    penstock: PenstockInProcess,
    single: TopicName,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    # Not by its mode, which does not bind root.
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: access(path, mode) and Path(path).resolve() != tmp_path
    )

    named = penstock("produce", single, "--errors-file", "errors.jsonl", stdin="1\n")
    right = penstock("produce", single, stdin="1\n")
    wrong = penstock("produce", single, "--format", "json", "--json", stdin="1\nwrong\n")

    assert named.status == 2
    assert named.stderr.startswith(
        "error[PEN-942]: errors file `errors.jsonl` could not be written"
    )
    assert right.status == 0
    (path,) = temporary.glob(f"penstock-*/{single}.errors.jsonl")
    assert (wrong.status, wrong.json["errors_file"]) == (1, str(path))
    assert [entry["input"] for entry in put_aside(path)] == ["wrong"]
    assert list(tmp_path.iterdir()) == []
