"""What commands do is on the trail that the console shows, in the console's words."""

from __future__ import annotations

import json
import os
import platform
import pwd
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import click
import pytest

from penstock.cli.trail import Deed, on_the_trail
from penstock.control.command_errors import UnknownRunningFlowError
from penstock.control.commands import Restart
from penstock.control.listening import CommandListener
from penstock.control.status_records import (
    STATUS_TOPIC,
    PipelineState,
    encode_status,
    status_key,
)
from penstock.control.trail import TRAIL_TOPIC, Trail
from penstock.kafka import (
    Admin,
    ConfigAlteration,
    alter_topic,
    delete_topics,
    describe_topics,
)
from penstock.kafka.tables import KafkaTable
from penstock.names import PipelineName, TopicName
from penstock.settings import load_settings
from support.groups import commit, joined, new_group, produce
from support.in_process import PenstockInProcess
from support.overviews import RECORD
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.control.commands import Command
    from penstock.control.trail import TrailEntry
    from penstock.kafka import Connection

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
KEY = "log.cleaner.io.buffer.load.factor"


@dataclass(frozen=True)
class Terminal:
    """Commands of one user, and what the trail has of things that nobody else names."""

    penstock: PenstockInProcess
    connection: Connection

    def __call__(self, *arguments: str, status: int = 0) -> str:
        """Run a command that ends with `status`; return what it wrote to stderr."""
        done = self.penstock(*arguments)
        assert done.status == status, done.stderr
        return done.stderr

    def entries(self, mark: str) -> list[TrailEntry]:
        """Return what the trail tells of `mark`, the oldest first."""

        def is_meant(entry: TrailEntry) -> bool:
            return mark in f"{entry.target} {entry.done} {entry.refused}"

        with closing(Trail(self.connection)) as trail:
            return list(trail.page(100, wanted=is_meant).entries)[::-1]

    def deeds(self, mark: str) -> list[tuple[str, str, str | None]]:
        """Return action, target and outcome of what the trail tells of `mark`."""
        return [
            (entry.action, entry.target, entry.done or f"refused: {entry.refused}")
            for entry in self.entries(mark)
        ]


@pytest.fixture
def terminal(connection: Connection, registry_url: str, tmp_path: Path) -> Terminal:
    environment = {
        "PENSTOCK_BOOTSTRAP": connection.bootstrap,
        "PENSTOCK_REGISTRY_URL": registry_url,
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
    }
    return Terminal(PenstockInProcess(tmp_path, environment), connection)


def new_name() -> str:
    return f"noted-{uuid4().hex[:12]}"


def test_the_life_of_a_topic_is_on_the_trail_as_if_the_console_had_led_it(
    terminal: Terminal, connection: Connection
) -> None:
    name = new_name()

    terminal("topics", "create", name, "--partitions", "1", "--config", "retention.ms=60000")
    terminal("topics", "create", name, "--if-not-exists")
    terminal("topics", "alter", name, "--partitions", "3", "--set", "retention.ms=120000")
    produce(connection, TopicName(name), {0: 1})
    terminal("topics", "purge", name, "--all", status=2)  # there is no terminal to ask on
    terminal("topics", "purge", name, "--all", "--yes")
    terminal("topics", "purge", name, "--all", "--yes")
    terminal("topics", "delete", name, "--yes")

    assert terminal.deeds(name) == [
        ("create_topic", "topics", f"Topic `{name}` was created."),
        (
            "alter_topic",
            f"topic {name}",
            f"Topic `{name}` was changed: `retention.ms` from 60000 to 120000.",
        ),
        ("add_partitions", f"topic {name}", f"Topic `{name}` has 3 partitions instead of 1."),
        ("purge_topic", f"topic {name}", f"Records of topic `{name}` were deleted: 1 offset."),
        ("delete_topic", f"topic {name}", f"Topic `{name}` was deleted."),
    ]


def test_an_entry_says_who_from_where_and_when(terminal: Terminal) -> None:
    name, before = new_name(), datetime.now(UTC)

    terminal("topics", "create", name)

    (entry,) = terminal.entries(name)
    assert entry.who == pwd.getpwuid(os.getuid()).pw_name
    assert (entry.address, entry.role) == (platform.node(), None)
    assert before <= entry.at <= before + timedelta(seconds=30)


def test_what_fails_is_on_the_trail_with_the_reason(terminal: Terminal) -> None:
    one, other = new_name(), new_name()
    terminal("topics", "create", one)

    terminal("topics", "create", one, status=1)
    terminal("topics", "delete", one, other, "--yes", status=1)

    assert terminal.deeds(one)[1:] == [
        ("create_topic", "topics", f"refused: topic `{one}` already exists"),
        ("delete_topic", f"topic {one}", f"refused: topic `{other}` does not exist"),
    ]
    assert terminal.deeds(f"topic {other}") == [
        ("delete_topic", f"topic {other}", f"refused: topic `{other}` does not exist"),
    ]


def test_groups_are_moved_and_deleted_on_the_trail_and_a_dry_run_is_not(
    terminal: Terminal, connection: Connection, topic: TopicName
) -> None:
    group = new_group()
    produce(connection, topic, {0: 10, 1: 5})
    commit(connection, group, topic, {0: 4, 1: 5})
    reset = ("groups", "reset", group, "--all-topics", "--to-earliest")

    terminal(*reset)
    terminal(*reset, "--execute", status=2)
    with joined(connection, group, topic, "web"):
        terminal(*reset, "--execute", "--yes", status=1)
    terminal(*reset, "--execute", "--yes")
    terminal("groups", "delete", group, "--yes")

    (_, _, refused), *done = terminal.deeds(group)
    assert refused is not None
    assert refused.startswith(f"refused: cannot reset group `{group}` while it has 1 member")
    assert done == [
        ("reset_group", f"group {group}", f"Group `{group}` was moved in 3 partitions."),
        ("delete_group", f"group {group}", f"Group `{group}` was deleted."),
    ]


def test_schemas_are_registered_levelled_and_deleted_on_the_trail(terminal: Terminal) -> None:
    subject = f"{new_name()}-value"
    file = terminal.penstock.folder / "schemas" / f"{subject}.avsc"
    file.parent.mkdir()
    file.write_text(json.dumps(ORDER))

    number = terminal.penstock("schemas", "register", subject, str(file), "--json").json["id"]
    terminal("schemas", "push")  # nothing has changed
    terminal("schemas", "config", subject)
    terminal("schemas", "config", subject, "--set", "full")
    file.write_text(json.dumps(ORDER | {"fields": [{"name": "id", "type": "string"}]}))
    terminal("schemas", "register", subject, str(file), status=1)
    terminal("schemas", "mode", subject, "--set", "READWRITE")
    terminal("schemas", "config", subject, "--unset")
    terminal("schemas", "delete", subject, "1", "--yes")

    target = f"subject {subject}"
    found = terminal.deeds(subject)
    assert (found[2][0], (found[2][2] or "")[:8]) == ("register_schema", "refused:")
    assert [*found[:2], *found[3:]] == [
        ("register_schema", target, f"Registered for {subject} as schema {number}."),
        ("set_level", target, f"The level of {subject} is FULL."),
        ("set_mode", target, f"The mode of {subject} is READWRITE."),
        ("set_level", target, f"The level of {subject} was removed."),
        ("delete_version", f"version 1 of {target}", f"Version 1 of {subject} is deleted."),
    ]


def test_each_schema_that_is_pushed_is_on_the_trail(terminal: Terminal) -> None:
    subject = f"{new_name()}-value"
    file = terminal.penstock.folder / "schemas" / f"{subject}.avsc"
    file.parent.mkdir()
    file.write_text(json.dumps(ORDER))

    terminal("schemas", "push", "--dry-run")
    (pushed,) = terminal.penstock("schemas", "push", "--json").json
    terminal("schemas", "delete", subject, "--yes")

    assert terminal.deeds(subject) == [
        (
            "register_schema",
            f"subject {subject}",
            f"Registered for {subject} as schema {pushed['id']}.",
        ),
        ("delete_subject", f"subject {subject}", f"Subject {subject} is deleted."),
    ]


def test_silences_are_on_the_trail(terminal: Terminal) -> None:
    begun = terminal.penstock(
        *("alerts", "silence", "lag-*", "--where", "group=none", "--for", "2h", "--why", "test"),
        "--json",
    ).json
    terminal("alerts", "unsilence", begun["id"])

    until = datetime.fromisoformat(begun["until"])
    ended = terminal.entries(f"silence {begun['id']}")
    assert [(entry.action, entry.done) for entry in ended] == [
        ("end_silence", "The silence of lag-* has ended.")
    ]
    assert terminal.deeds(f"silent until {until:%Y-%m-%d %H:%M}")[-1] == (
        "silence_alerts",
        "alerts",
        f"Alerts of lag-* are silent until {until:%Y-%m-%d %H:%M} UTC.",
    )


def test_configs_of_brokers_are_on_the_trail(terminal: Terminal) -> None:
    terminal("cluster", "config", "set", f"{KEY}=0.8", "--broker", "1", "--yes")
    terminal("cluster", "config", "unset", KEY, "--broker", "1", "--yes")

    changed = "The configs of broker 1 were changed:"
    assert terminal.deeds(KEY)[-2:] == [
        ("alter_broker", "broker 1", f"{changed} `{KEY}` from 0.9 to 0.8."),
        ("alter_broker", "broker 1", f"{changed} `{KEY}` from 0.8 to 0.9."),
    ]


@pytest.mark.usefixtures("patient_commands")
def test_what_a_driver_answers_is_on_the_trail(terminal: Terminal, connection: Connection) -> None:
    name = _told(connection, PipelineState.RUNNING)

    def answered(command: Command) -> str:
        if isinstance(command, Restart):
            raise UnknownRunningFlowError(command.flow or "", known=[])
        return f"`{name}` heard {command.verb}"

    with CommandListener(connection, name, answered) as listener:
        assert listener.is_listening.wait(30)
        terminal("pause", name)
        terminal("resume", name, "--flow", "clean")
        terminal("restart", name, "--flow", "other", status=1)
        terminal("rescale", name, "--flow", "clean", "--min-partitions", "2")
        terminal("log-level", name, "root", "error")

    pipeline, flow = f"pipeline {name}", f"flow {name}/clean"
    assert terminal.deeds(name) == [
        ("pause_pipeline", pipeline, f"`{name}` heard pause."),
        ("resume_flow", flow, f"`{name}` heard resume."),
        (
            "restart_flow",
            f"flow {name}/other",
            "refused: the running pipeline has no flow `other`",
        ),
        ("rescale_flow", flow, f"`{name}` heard rescale_reading."),
        ("set_log_level", pipeline, f"`{name}` heard log_level."),
    ]


@pytest.mark.usefixtures("patient_commands")
def test_a_stop_is_on_the_trail_before_its_end_is_waited_for(
    terminal: Terminal, connection: Connection
) -> None:
    """Whoever closes the terminal meanwhile has stopped the pipeline all the same."""
    name = _told(connection, PipelineState.RUNNING)
    noted: list[tuple[str, str, str | None]] = []

    def watch() -> None:
        eventually(lambda: bool(terminal.deeds(name)), within_seconds=30)
        noted.extend(terminal.deeds(name))
        _told(connection, PipelineState.STOPPED, name=name)

    with (
        CommandListener(connection, name, lambda _: "stopping after the batch") as listener,
        ThreadPoolExecutor() as threads,
    ):
        assert listener.is_listening.wait(30)
        watching = threads.submit(watch)
        terminal("stop", name)
        watching.result()

    assert noted == [("stop_pipeline", f"pipeline {name}", "Stopping after the batch.")]
    assert terminal.deeds(name) == noted


@pytest.mark.parametrize(
    ("end", "noted"),
    [
        (KeyboardInterrupt(), ["Ctrl-C came before the outcome: it may have been done or begun."]),
        (click.Abort(), []),
    ],
    ids=["Ctrl-C", "no"],
)
def test_what_ctrl_c_cuts_short_is_on_the_trail_and_a_no_is_not(
    terminal: Terminal, connection: Connection, end: BaseException, noted: list[str]
) -> None:
    name = new_name()
    settings = load_settings({"bootstrap": connection.bootstrap})

    with pytest.raises(type(end)), on_the_trail(settings, Deed("delete_topic", f"topic {name}")):
        raise end

    assert [entry.done for entry in terminal.entries(name)] == noted


def test_what_cannot_be_noted_is_done_all_the_same_and_said(
    terminal: Terminal, connection: Connection
) -> None:
    name = new_name()
    terminal("topics", "create", f"{name}-before")  # the trail is there
    limit = "max.message.bytes"
    with Admin(connection) as admin:
        alter_topic(admin, TRAIL_TOPIC, alterations=[ConfigAlteration(name=limit, value="1")])
        try:
            told = terminal("topics", "create", name)
        finally:
            back = [ConfigAlteration(name=limit, value=None)]
            alter_topic(admin, TRAIL_TOPIC, alterations=back)

    assert told.startswith("warning: this is not on the trail: ")
    assert len(told.splitlines()) == 1
    assert terminal.deeds(name)[1:] == []
    assert terminal.penstock("topics", "list", name, "--json").json[0]["name"] == name


def test_a_cluster_that_is_away_is_told_of_once_and_at_once(terminal: Terminal) -> None:
    before = time.monotonic()

    told = terminal("topics", "create", "x", "--bootstrap", "127.0.0.1:1", status=1)

    assert told.startswith("error[PEN-401]")
    assert "trail" not in told
    assert time.monotonic() - before < 5


def test_the_trail_is_made_where_no_console_has_ever_been(
    terminal: Terminal, connection: Connection
) -> None:
    name = new_name()
    with Admin(connection) as admin:
        if TRAIL_TOPIC in admin.metadata().topics:
            delete_topics(admin, [TRAIL_TOPIC], allow_internal=True)

    assert terminal("topics", "create", name) == ""

    assert [action for action, _, _ in terminal.deeds(name)] == ["create_topic"]
    with Admin(connection) as admin:
        (found,) = describe_topics(admin, [TRAIL_TOPIC])
    assert (len(found.partitions), found.config("cleanup.policy")) == (1, "delete")


def _told(
    connection: Connection, state: PipelineState, *, name: PipelineName | None = None
) -> PipelineName:
    """Let a driver that is not there have said that its pipeline is in `state`."""
    name = name or PipelineName(new_name())
    record = replace(RECORD, pipeline=name, state=state, why=None, error=None)
    with KafkaTable.open(connection, STATUS_TOPIC) as table:
        table.put(status_key(name, record.epoch), encode_status(record))
    return name
