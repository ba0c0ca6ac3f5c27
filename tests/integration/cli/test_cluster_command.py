"""`penstock cluster` against a real broker: output, streams, status, `--json`, wrong input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.commands import Outcome
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.kafka import Connection

KEY = "log.cleaner.io.buffer.load.factor"
DEFAULT = "0.9 (default)"


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> Iterator[PenstockInProcess]:
    """The command; what a test sets for `KEY` on the shared broker is removed again."""
    penstock = PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})
    yield penstock
    penstock("cluster", "config", "unset", KEY, "--broker", "1", "--yes")
    penstock("cluster", "config", "unset", KEY, "--default", "--yes")


def test_the_cluster_is_described(penstock: PenstockInProcess, connection: Connection) -> None:
    done = penstock("cluster", "describe")

    assert (done.status, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][0] == "cluster"
    assert rows[1][4:] == ["0", "under-replicated,", "0", "offline"]
    assert rows[4][:4] == ["1", connection.bootstrap, "-", "yes"]
    assert ["controller", "1,", "epoch"] in [row[:3] for row in rows]
    assert "transaction.version=2" in done.stdout


def test_the_description_as_json_is_complete(
    penstock: PenstockInProcess, connection: Connection
) -> None:
    cluster = penstock("cluster", "describe", "--json").json

    assert sorted(cluster) == [
        "brokers",
        "cluster_id",
        "controller",
        "disk_bytes_by_topic",
        "features",
        "offline",
        "partitions",
        "quorum",
        "topics",
        "under_replicated",
    ]
    broker = cluster["brokers"][0]
    assert sorted(broker) == [
        "directories",
        "disk_bytes",
        "host",
        "id",
        "leaders",
        "port",
        "rack",
        "reachable",
        "replicas",
    ]
    assert f"{broker['host']}:{broker['port']}" == connection.bootstrap
    assert broker["directories"][0]["total_bytes"] > broker["directories"][0]["usable_bytes"] > 0
    assert (cluster["controller"], cluster["quorum"]["leader"]) == (1, 1)
    assert [voter["id"] for voter in cluster["quorum"]["voters"]] == [1]


def test_configs_are_shown_with_their_source(penstock: PenstockInProcess) -> None:
    done = penstock("cluster", "config", "get", "auto.create.topics.enable")
    as_json = penstock("cluster", "config", "get", KEY, "--broker", "1", "--json").json

    assert [line.split() for line in done.stdout.splitlines()] == [
        ["CONFIG", "VALUE", "SOURCE", "BROKERS"],
        ["auto.create.topics.enable", "false", "broker's", "file", "1"],
    ]
    assert as_json == [
        {
            "owner": "broker 1",
            "name": KEY,
            "value": "0.9",
            "source": "default",
            "read_only": False,
            "sensitive": False,
        }
    ]


def test_without_keys_only_what_was_set_is_shown(penstock: PenstockInProcess) -> None:
    some = penstock("cluster", "config", "get", "--json").json
    every = penstock("cluster", "config", "get", "--all", "--json").json

    assert [entry for entry in some if entry["source"] == "default"] == []
    assert len(every) > 200


def test_a_change_shows_old_and_new_and_needs_consent(penstock: PenstockInProcess) -> None:
    change = ("cluster", "config", "set", f"{KEY}=0.8", "--broker", "1")

    asked = penstock(*change)
    done = penstock(*change, "--yes")
    removed = penstock("cluster", "config", "unset", KEY, "--broker", "1", "--yes")

    assert asked == Outcome(
        2,
        "",
        f"broker 1: {KEY} {DEFAULT} → 0.8\n"
        "error[PEN-901]: this would change 1 configs of broker 1, and there is no terminal to "
        "ask\n\nhint: add `--yes` when that is what you want\n",
    )
    assert done == Outcome(0, f"broker 1: {KEY} {DEFAULT} → 0.8 (broker)\n", "")
    assert removed == Outcome(0, f"broker 1: {KEY} 0.8 (broker) → {DEFAULT}\n", "")


def test_a_change_for_all_brokers(penstock: PenstockInProcess) -> None:
    done = penstock("cluster", "config", "set", f"{KEY}=0.7", "--default", "--yes", "--json")
    shown = penstock("cluster", "config", "get", KEY, "--default")

    entry = {"name": KEY, "read_only": False, "sensitive": False}
    assert done.json == {
        "owner": "all brokers",
        "configs": [
            {
                "name": KEY,
                "old": None,
                "new": entry | {"value": "0.7", "source": "all brokers"},
            }
        ],
    }
    assert shown.stdout.splitlines()[1].split() == [KEY, "0.7", *["all", "brokers"] * 2]


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["describe", "--bootstrap", "127.0.0.1:1"], 1, "PEN-401"),
        (["describe", "--bootstrap", ":9092"], 2, "PEN-410"),
        (["config", "get", "num.io.thread"], 2, "PEN-416"),
        (["config", "get", "num.io.thread", "--default"], 2, "PEN-416"),
        (["config", "get", "--broker", "9"], 2, "PEN-415"),
        (["config", "get", "--broker", "1", "--default"], 2, "PEN-924"),
        (["config", "set", "num.io.threads=3", "--yes"], 2, "PEN-924"),
        (["config", "set", "a=1", "a=2", "--broker", "1", "--yes"], 2, "PEN-920"),
        (["config", "set", "num.io.thread=3", "--broker", "1", "--yes"], 2, "PEN-416"),
        (["config", "set", "num.io.threads=3", "--broker", "9", "--yes"], 2, "PEN-415"),
        (["config", "set", "num.io.threads=x", "--broker", "1", "--yes"], 1, "PEN-426"),
        (["config", "set", "num.io.threads=x", "--default", "--yes"], 1, "PEN-426"),
        (["config", "set", "node.id=3", "--broker", "1", "--yes"], 2, "PEN-422"),
        (["config", "unset", "node.id", "--default", "--yes"], 2, "PEN-422"),
        (["config", "unset", "num.io.thread", "--default", "--yes"], 2, "PEN-416"),
        (["config", "set"], 2, "PEN-930"),
        (["config", "set", "num.io.threads", "--broker", "1"], 2, "PEN-930"),
        (["config", "unset"], 2, "PEN-930"),
        (["config", "change"], 2, "PEN-931"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_wrong_input_is_one_sentence_and_a_hint(
    penstock: PenstockInProcess, arguments: list[str], status: int, code: str
) -> None:
    done = penstock("cluster", *arguments)

    message, blank, hint = done.stderr.splitlines()
    assert (done.status, done.stdout, blank) == (status, "", "")
    assert message.startswith(f"error[{code}]: ")
    assert hint.startswith("hint: ")
