"""`penstock groups` against a real broker: what is printed, on which stream, with which status."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.kafka import Connection
from penstock.names import GroupId, TopicName
from support.commands import Penstock
from support.groups import commit, delete_records_before, joined, new_group, produce
from support.in_process import PenstockInProcess
from support.topic_contents import await_commits


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})


@pytest.fixture
def group(connection: Connection, topic: TopicName) -> GroupId:
    """A group at 4 of 10, 5 of 5 and nowhere of 3."""
    group = new_group()
    produce(connection, topic, {0: 10, 1: 5, 2: 3})
    commit(connection, group, topic, {0: 4, 1: 5})
    return group


HEADER_END = ("LOG", "END", "OFFSET", "LAG", "OWNER")


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_list_shows_type_state_members_and_lag(penstock: PenstockInProcess, group: GroupId) -> None:
    done = penstock("groups", "list", f"{group[:-4]}*", "--state", "empty", "--type", "classic")
    assert (done.status, done.stderr) == (0, "")
    assert cells(done.stdout) == [
        ["GROUP", "TYPE", "STATE", "MEMBERS", "LAG"],
        [group, "classic", "empty", "0", "6"],
    ]
    assert penstock("groups", "list", group, "--json").json == [
        {"group": group, "type": "classic", "state": "empty", "members": 0, "lag": 6}
    ]
    assert penstock("groups", "list", group, "--type", "consumer", "--json").json == []


def test_describe_prints_the_table_of_the_labs(
    penstock: PenstockInProcess, topic: TopicName, group: GroupId
) -> None:
    done = penstock("groups", "describe", group)
    summary, _, *rows, total, note = done.stdout.splitlines()
    assert (done.status, done.stderr) == (0, "")
    assert summary.startswith(f"group {group}: classic, empty, coordinator 1 (127.0.0.1:")
    assert rows[0].split("  ")[-1] == "OWNER"
    assert cells("\n".join(rows)) == [
        [
            "GROUP",
            "TOPIC",
            "PARTITION",
            "CURRENT",
            "OFFSET",
            "LOG",
            "END",
            "OFFSET",
            "LAG",
            "OWNER",
        ],
        [group, topic, "0", "4", "10", "6", "-"],
        [group, topic, "1", "5", "5", "0", "-"],
        [group, topic, "2", "-", "3", "-", "-"],
    ]
    assert (total, note) == ("total lag: 6", f"note: `{topic}-2` has no committed offset")


def test_describe_of_an_active_group_names_members_and_owners(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    with joined(connection, group, topic, "web"):
        [found] = penstock("groups", "describe", group, "--json").json
        text = penstock("groups", "describe", group).stdout

    [member] = found["members"]
    owner = member.pop("member_id")
    partitions = [{"topic": topic, "partition": number} for number in range(3)]
    assert member == {
        "client_id": "web",
        "host": "127.0.0.1",
        "instance_id": None,
        "partitions": partitions,
    }
    assert (found["state"], found["assignor"], found["lag"]) == ("stable", "range", 6)
    assert found["partitions"][0] == {
        "topic": topic,
        "partition": 0,
        "current_offset": 4,
        "log_start_offset": 0,
        "log_end_offset": 10,
        "last_stable_offset": 10,
        "lag": 6,
        "held": 0,
        "expired": 0,
        "owner": owner,
    }
    assert cells(text)[2:4] == [
        ["MEMBER", "CLIENT", "ID", "HOST", "PARTITIONS"],
        [owner, "web", "127.0.0.1", f"{topic}-0,{topic}-1,{topic}-2"],
    ]


def test_describe_says_what_of_the_lag_is_deleted(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    delete_records_before(connection, topic, 7)
    done = penstock("groups", "describe", group)
    assert done.stdout.splitlines()[-3:-1] == [
        "total lag: 6",
        f"note: `{topic}-0`: 3 of the lag of 6 are already deleted",
    ]


def test_describe_says_what_of_the_lag_is_behind_an_open_transaction(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    producer = Producer(connection.client_config() | {"transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(topic, "x", partition=0)
    assert producer.flush(20) == 0
    text = penstock("groups", "describe", group).stdout
    [found] = penstock("groups", "describe", group, "--json").json
    producer.commit_transaction(20)
    await_commits(connection, topic)
    [after] = penstock("groups", "describe", group, "--json").json

    assert text.splitlines()[-3:-1] == [
        "total lag: 9",
        f"note: `{topic}-0`: 3 of the lag of 9 are behind an open transaction, readers of "
        "committed records wait at 10",
    ]
    (described,), (later,) = (
        [item for item in shown["partitions"] if item["partition"] == 0] for shown in (found, after)
    )
    ends = ("log_end_offset", "last_stable_offset", "lag", "held")
    assert [described[name] for name in ends] == [13, 10, 9, 3]
    assert [later[name] for name in ends] == [14, 14, 10, 0]


def test_reset_shows_a_dry_run_and_changes_nothing(
    penstock: PenstockInProcess, topic: TopicName, group: GroupId
) -> None:
    done = penstock("groups", "reset", group, "--all-topics", "--to-offset", "7")
    assert (done.status, done.stderr) == (
        0,
        "dry run: nothing was changed; add --execute to write these offsets\n",
    )
    assert done.stdout == aligned(
        topic,
        "TOPIC  PARTITION  CURRENT OFFSET  NEW OFFSET  LAG  NEW LAG  NOTE",
        "topic          0               4           7    6        3",
        "topic          1               5           5    0        0  asked for 7; the partition "
        "has 0 to 5",
        "topic          2               -           3    -        0  asked for 7; the partition "
        "has 0 to 3",
    )
    assert committed(penstock, group) == [4, 5, None]


def aligned(topic: TopicName, header: str, *rows: str) -> str:
    """Return the table that `header` and `rows` sketch, with the long name of the topic in it."""
    lines = [header.replace("TOPIC", "TOPIC".ljust(len(topic)), 1)]
    lines += [row.replace("topic", topic, 1) for row in rows]
    return "".join(f"{line}\n" for line in lines)


def committed(penstock: PenstockInProcess, group: GroupId) -> list[int | None]:
    [found] = penstock("groups", "describe", group, "--json").json
    return [item["current_offset"] for item in found["partitions"]]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (["--to-earliest"], [0, 5, None]),
        (["--to-latest"], [10, 5, None]),
        (["--to-offset", "3"], [3, 5, None]),
        (["--to-time", "1h"], [0, 5, None]),
        (["--shift", "-1"], [3, 5, None]),
    ],
    ids=["earliest", "latest", "offset", "time", "shift"],
)
def test_reset_with_execute_moves_the_chosen_partitions(
    penstock: PenstockInProcess,
    topic: TopicName,
    group: GroupId,
    target: list[str],
    expected: list[int | None],
) -> None:
    done = penstock(
        "groups", "reset", group, "--topic", f"{topic}:0", *target, "--execute", "--yes"
    )
    assert (done.status, done.stderr) == (0, f"wrote 1 offset of group `{group}`\n")
    assert committed(penstock, group) == expected


def test_reset_from_a_file_tells_json_what_was_written(
    penstock: PenstockInProcess, topic: TopicName, group: GroupId
) -> None:
    file = penstock.folder / "group.json"
    file.write_text(penstock("groups", "export", group).stdout, encoding="utf-8")
    penstock("groups", "reset", group, "--all-topics", "--to-latest", "--execute", "--yes")
    done = penstock(
        *("groups", "reset", group, "--topic", topic, "--from-file", str(file)),
        *("--execute", "--yes", "--json"),
    )
    assert done.json == {
        "group": group,
        "executed": True,
        "changes": [
            {
                "topic": topic,
                "partition": number,
                "current_offset": end,
                "new_offset": offset,
                "wanted_offset": offset,
                "lag": 0,
                "new_lag": end - offset,
            }
            for number, end, offset in [(0, 10, 4), (1, 5, 5)]
        ],
        "unchanged": [{"topic": topic, "partition": 2}],
        "members": [],
    }


def test_reset_of_a_group_in_use_is_refused_and_its_dry_run_warns(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    with joined(connection, group, topic, "web"):
        dry = penstock("groups", "reset", group, "--all-topics", "--to-earliest")
        done = penstock(
            "groups", "reset", group, "--all-topics", "--to-earliest", "--execute", "--yes"
        )
    assert (dry.status, dry.stderr.splitlines()[0]) == (
        0,
        "note: --execute is refused while the group has members: `web`",
    )
    assert (done.status, done.stdout, done.stderr.splitlines()[0]) == (
        1,
        "",
        f"error[PEN-431]: cannot reset group `{group}` while it has 1 member: `web` on 127.0.0.1",
    )
    assert committed(penstock, group) == [4, 5, None]


def test_off_a_terminal_nothing_is_written_without_yes(
    penstock: PenstockInProcess, topic: TopicName, group: GroupId
) -> None:
    file = penstock.folder / "group.json"
    file.write_text(penstock("groups", "export", group).stdout, encoding="utf-8")
    tried = [
        penstock("groups", "reset", group, "--topic", topic, "--to-earliest", "--execute"),
        penstock("groups", "import", str(file), "--execute"),
        penstock("groups", "delete", group),
    ]
    assert [(done.status, done.stderr.splitlines()[0]) for done in tried] == [
        (2, f"error[PEN-901]: this would {act}, and there is no terminal to ask")
        for act in (
            f"write 3 offsets of group `{group}`",
            f"write 2 offsets of group `{group}`",
            "delete 1 group and these offsets",
        )
    ]
    assert committed(penstock, group) == [4, 5, None]


def test_export_delete_and_import_by_the_installed_command_restore_the_group(
    connection: Connection, tmp_path: Path, topic: TopicName, group: GroupId
) -> None:
    penstock = Penstock(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})
    exported = penstock("groups", "export", group).stdout
    file = penstock.folder / "group.json"
    file.write_text(exported, encoding="utf-8")

    deleted = penstock("groups", "delete", group, "--yes")
    gone = penstock("groups", "describe", group)
    dry = penstock("groups", "import", str(file))
    still_gone = penstock("groups", "describe", group)
    imported = penstock("groups", "import", str(file), "--execute", "--yes")

    assert cells(deleted.stdout) == [
        ["GROUP", "TOPIC", "PARTITION", "CURRENT", "OFFSET"],
        [group, topic, "0", "4"],
        [group, topic, "1", "5"],
    ]
    assert deleted.stderr == "deleted 1 group\n"
    assert (gone.status, dry.status, still_gone.status) == (1, 0, 1)
    assert (imported.status, imported.stderr) == (0, f"wrote 2 offsets of group `{group}`\n")
    assert penstock("groups", "export", group).stdout == exported


def test_import_under_another_name_copies_the_group(
    penstock: PenstockInProcess, group: GroupId
) -> None:
    file = penstock.folder / "group.json"
    file.write_text(penstock("groups", "export", group, "--json").stdout, encoding="utf-8")
    copy = new_group()
    penstock("groups", "import", str(file), "--group", copy, "--execute", "--yes")
    assert committed(penstock, copy) == [4, 5, None]


def test_delete_of_a_group_in_use_deletes_nothing(
    penstock: PenstockInProcess, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    idle = new_group()
    commit(connection, idle, topic, {0: 1})
    with joined(connection, group, topic, "web"):
        done = penstock("groups", "delete", idle, group, "--yes", "--json")
    assert (done.status, done.json["error"]["code"]) == (1, "PEN-431")
    assert [committed(penstock, name)[0] for name in (idle, group)] == [1, 4]


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["list", "--state", "sleeping"], 2, "PEN-930"),
        (["list", "--type", "pigeon"], 2, "PEN-930"),
        (["describe"], 2, "PEN-930"),
        (["describe", "GROUPx"], 1, "PEN-430"),
        (["reset", "GROUP", "--to-earliest"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC", "--to-earliest", "--to-latest"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC", "--all-topics", "--to-latest"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC:a", "--to-earliest"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC", "--to-offset", "-1"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC", "--to-time", "noon"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC", "--from-file", "absent"], 2, "PEN-930"),
        (["reset", "GROUP", "--topic", "TOPIC", "--from-file", "bad.json"], 2, "PEN-434"),
        (["reset", "GROUP", "--topic", "TOPICx", "--to-latest"], 1, "PEN-402"),
        (["reset", "GROUP", "--topic", "TOPIC:9", "--to-latest"], 1, "PEN-411"),
        (["reset", "GROUP", "--topic", "TOPIC:2", "--shift", "1"], 1, "PEN-433"),
        (["reset", "GROUPx", "--topic", "TOPIC", "--to-latest"], 1, "PEN-430"),
        (["delete", "GROUPx", "--yes"], 1, "PEN-430"),
        (["export", "GROUPx"], 1, "PEN-430"),
        (["import", "bad.json"], 2, "PEN-434"),
        (["import", "absent.json"], 2, "PEN-930"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_input_is_one_error_and_changes_nothing(
    penstock: PenstockInProcess,
    topic: TopicName,
    group: GroupId,
    arguments: list[str],
    status: int,
    code: str,
) -> None:
    (penstock.folder / "bad.json").write_text("{}", encoding="utf-8")
    real = [item.replace("GROUP", group).replace("TOPIC", topic) for item in arguments]

    done = penstock("groups", *real, "--json")

    assert (done.status, done.json["error"]["code"]) == (status, code)
    assert done.stderr.startswith(f"error[{code}]: ")
    assert "Traceback" not in done.stderr
    assert committed(penstock, group) == [4, 5, None]


def test_a_cluster_that_does_not_answer_is_named(penstock: PenstockInProcess) -> None:
    done = penstock("groups", "list", "--bootstrap", "127.0.0.1:1", "--json")
    assert (done.status, done.json["error"]["code"]) == (1, "PEN-401")
    assert "`127.0.0.1:1`" in done.json["error"]["message"]
