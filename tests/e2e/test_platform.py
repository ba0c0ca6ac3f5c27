"""`penstock up`, `down` and `platform`, with everything that can go wrong on one machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.kafka import Admin, Connection
from penstock.local.processes import find_processes
from penstock.names import PlatformName
from support.commands import Penstock
from support.processes import kill_all
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)

NAME = PlatformName("trial")
WHOLE = 4
"""Processes of a platform with one broker: that, registry, console and the supervisor."""


@pytest.fixture
def penstock(tmp_path: Path) -> Iterator[Penstock]:
    """The command, with a data folder of its own and free ports; whatever it starts is ended."""
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_PLATFORM_NAME": NAME,
        "PENSTOCK_PLATFORM_PORT": "0",
    }
    yield Penstock(tmp_path, environment)
    kill_all(tmp_path / "data" / "platforms" / NAME)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "platforms" / NAME


def topics_at(bootstrap: str) -> set[str]:
    with Admin(Connection(bootstrap=bootstrap)) as admin:
        return set(admin.metadata().topics)


def broker_pid(penstock: Penstock, broker_id: int = 1) -> int | None:
    brokers = penstock("platform", "status", "--json").json["brokers"]
    pid: int | None = brokers[broker_id - 1]["pid"]
    return pid


@pytest.mark.long
def test_data_survives_down_and_up_and_is_gone_when_deleted(penstock: Penstock, root: Path) -> None:
    first = penstock("up", "--json")
    assert (first.status, first.json["running"]) == (0, True), first.stderr
    bootstrap = first.json["bootstrap"]
    assert penstock("topics", "create", "kept", "--partitions", "2").status == 0

    assert penstock("down").stdout == "platform `trial` is down\n"
    assert find_processes(root) == []
    again = penstock("up", "--json")
    assert again.json["bootstrap"] == bootstrap
    assert "kept" in topics_at(bootstrap)

    refused = penstock("down", "--delete-data")
    assert (refused.status, "PEN-901" in refused.stderr) == (2, True)
    assert penstock("down", "--delete-data", "--yes").status == 0
    assert not root.exists()


def test_a_second_up_finds_the_platform_running(penstock: Penstock, root: Path) -> None:
    first = penstock("up", "--json").json
    second = penstock("up", "--json").json

    assert second["supervisor_pid"] == first["supervisor_pid"]
    assert len(find_processes(root)) == WHOLE
    other = penstock("up", "--brokers", "3")
    assert (other.status, "PEN-509" in other.stderr) == (2, True)


@pytest.mark.long
def test_a_broker_that_crashes_is_restarted_with_a_reason(penstock: Penstock) -> None:
    penstock("up")
    pid = broker_pid(penstock)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    def restarted() -> bool:
        broker = penstock("platform", "status", "--json").json["brokers"][0]
        return bool(broker["state"] == "running" and broker["restarts"] == 1)

    eventually(restarted, within_seconds=120)
    broker = penstock("platform", "status", "--json").json["brokers"][0]
    assert (broker["last_exit"], broker["pid"] != pid) == ("killed by SIGKILL", True)


@pytest.mark.long
def test_the_registry_keeps_its_address_and_its_schemas(penstock: Penstock) -> None:
    """It is killed, then stopped with the platform, and is back both times."""
    first = penstock("up", "--json").json["registry"]
    body = json.dumps({"schema": '"string"'}).encode()
    request = urllib.request.Request(  # noqa: S310
        f"{first['url']}/subjects/kept/versions", body, {"Content-Type": "application/json"}
    )
    assert json.load(urllib.request.urlopen(request, timeout=30))["id"] == 1  # noqa: S310
    assert f"the schema registry is ready at {first['url']}" in penstock("up").stdout
    os.kill(first["pid"], signal.SIGKILL)

    def restarted() -> bool:
        found = penstock("platform", "status", "--json").json["registry"]
        return bool(found["state"] == "running" and found["restarts"] == 1)

    eventually(restarted, within_seconds=120)
    assert "killed by SIGKILL" in penstock("platform", "status").stdout
    assert penstock("down").status == 0
    again = penstock("up", "--json").json["registry"]
    assert (again["url"], again["state"]) == (first["url"], "running")
    with urllib.request.urlopen(f"{again['url']}/subjects", timeout=30) as answer:  # noqa: S310
        assert json.load(answer) == ["kept"]
    assert "ready at" in penstock("platform", "logs", "registry").stdout


def test_the_console_is_there_keeps_its_address_and_is_restarted(penstock: Penstock) -> None:
    ready = penstock("up").stdout
    first = penstock("platform", "status", "--json").json["console"]
    assert f"the console is ready at {first['url']}\n" in ready
    with urllib.request.urlopen(f"{first['url']}/health", timeout=30) as answer:  # noqa: S310
        assert answer.status == 200
    os.kill(first["pid"], signal.SIGKILL)

    def restarted() -> bool:
        found = penstock("platform", "status", "--json").json["console"]
        return bool(found["state"] == "running" and found["restarts"] == 1)

    eventually(restarted, within_seconds=120)
    again = penstock("platform", "status", "--json").json["console"]
    assert (again["url"], again["last_exit"]) == (first["url"], "killed by SIGKILL")
    assert f"ready at {first['url']}" in penstock("platform", "logs", "console").stdout


def test_a_console_of_its_own_runs_in_the_foreground_until_it_is_asked_to_end(
    penstock: Penstock, kafka: KafkaCluster
) -> None:
    process = penstock.start("console", "--bootstrap", kafka.bootstrap, "--port", "0")
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said.startswith("the console is ready at http://127.0.0.1:")
    with urllib.request.urlopen(f"{said.split()[-1]}/health", timeout=30) as answer:  # noqa: S310
        assert answer.status == 200

    process.send_signal(signal.SIGINT)

    rest, errors = process.communicate(timeout=170)
    assert (process.returncode, rest, errors) == (0, "the console has stopped\n", "")


@pytest.mark.long
@pytest.mark.parametrize("verb", ["up", "down"])
def test_what_a_killed_supervisor_leaves_is_found_by(
    verb: str, penstock: Penstock, root: Path
) -> None:
    supervisor = penstock("up", "--json").json["supervisor_pid"]
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: not psutil.pid_exists(supervisor), within_seconds=10)
    orphaned = penstock("platform", "status", "--json")
    assert orphaned.status == 1
    assert orphaned.json["brokers"][0]["state"] == "running without a supervisor"
    orphan = orphaned.json["brokers"][0]["pid"]

    outcome = penstock(verb)

    assert outcome.status == 0, outcome.stderr
    assert "left by a supervisor that died" in outcome.stderr
    assert not psutil.pid_exists(orphan)
    assert len(find_processes(root)) == (WHOLE if verb == "up" else 0)


@pytest.mark.long
def test_a_frozen_supervisor_is_ended_by_down(penstock: Penstock, root: Path) -> None:
    supervisor = penstock("up", "--json").json["supervisor_pid"]
    os.kill(supervisor, signal.SIGSTOP)

    silent = penstock("platform", "status")
    assert (silent.status, "PEN-504" in silent.stderr) == (1, True)
    assert penstock("down").status == 0
    assert find_processes(root) == []


@pytest.mark.long
def test_an_up_during_a_down_waits_for_it(penstock: Penstock, root: Path) -> None:
    first = penstock("up", "--json").json["supervisor_pid"]
    going_down = penstock.start("down")
    outcome = penstock("up", "--json")
    _, errors = going_down.communicate(timeout=170)

    assert (going_down.returncode, outcome.status) == (0, 0), errors + outcome.stderr
    # Whichever took the lock first, one platform is left and it is whole, or it is all down.
    alive = penstock("platform", "status", "--json").json
    assert len(find_processes(root)) == (WHOLE if alive["running"] else 0)
    if alive["running"]:
        assert alive["supervisor_pid"] != first


def test_two_ups_at_once_start_one_platform(penstock: Penstock, root: Path) -> None:
    together = [penstock.start("up", "--json") for _ in range(2)]
    results = [process.communicate(timeout=170) for process in together]

    assert [process.returncode for process in together] == [0, 0], results
    assert len(find_processes(root)) == WHOLE


@pytest.mark.long
def test_stale_files_of_a_dead_supervisor_do_not_confuse(penstock: Penstock, root: Path) -> None:
    """The process id in the file belongs to somebody else by now."""
    penstock("up")
    stale = (root / "supervisor.json").read_text()
    penstock("down")
    (root / "supervisor.json").write_text(stale.replace(stale.split(":")[1].split(",")[0], " 1"))

    assert penstock("platform", "status", "--json").json["running"] is False
    assert penstock("up", "--json").json["running"] is True


def test_a_foreign_process_on_the_port_is_named(penstock: Penstock, root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        port = foreign.getsockname()[1]
        outcome = penstock("up", "--port", str(port))

    assert outcome.status == 1
    assert outcome.stderr.startswith(
        f"error[PEN-502]: port {port} is held by process {os.getpid()} "
    )
    assert find_processes(root) == []


@pytest.mark.long
def test_a_port_taken_later_stops_the_restart_and_says_by_whom(penstock: Penstock) -> None:
    """The broker is stopped, a stranger takes its port, the broker is started again."""
    port = int(penstock("up", "--json").json["bootstrap"].rpartition(":")[2])
    penstock("platform", "broker", "stop", "1")
    with socket.create_server(("127.0.0.1", port)):
        outcome = penstock("platform", "broker", "start", "1")

    assert (outcome.status, "PEN-510" in outcome.stderr) == (1, True)
    assert f"port {port} is held by process {os.getpid()}" in outcome.stderr


def test_data_of_a_newer_kafka_is_refused(penstock: Penstock, root: Path) -> None:
    penstock("up")
    penstock("down")
    shape = root / "platform.json"
    shape.write_text(shape.read_text().replace("4.3.1", "9.0.0"))

    outcome = penstock("up")

    assert outcome.status == 1
    assert f"error[PEN-507]: `{root}` was written by Kafka 9.0.0" in outcome.stderr


@pytest.mark.long
def test_damaged_data_ends_up_with_the_reason_and_nothing_left(
    penstock: Penstock, root: Path
) -> None:
    penstock("up")
    penstock("down")
    (root / "broker-1" / "data" / "meta.properties").write_text("version=77\n")

    outcome = penstock("up")

    assert (outcome.status, "PEN-510" in outcome.stderr) == (1, True), outcome.stderr
    assert "No readable meta.properties files found" in outcome.stderr
    assert find_processes(root) == []


def test_too_much_memory_is_refused_before_anything_starts(penstock: Penstock, root: Path) -> None:
    penstock.environment["PENSTOCK_PLATFORM_HEAP_MB"] = "900000000"  # type: ignore[index]

    outcome = penstock("up")

    assert (outcome.status, "PEN-505" in outcome.stderr) == (1, True)
    assert "platform.heap_mb" in outcome.stderr
    assert find_processes(root) == []


def test_an_unreadable_platform_file_is_named(penstock: Penstock, root: Path) -> None:
    root.mkdir(parents=True)
    (root / "platform.json").write_text("{")

    outcome = penstock("platform", "status")

    assert outcome.status == 1
    assert outcome.stderr.startswith(f"error[PEN-503]: `{root / 'platform.json'}` cannot be read")


def test_logs_are_read_by_component(penstock: Penstock) -> None:
    penstock("up")

    broker = penstock("platform", "logs", "broker-1", "-n", "1000")
    supervisor = penstock("platform", "logs", "supervisor")
    unknown = penstock("platform", "logs", "broker-9")

    assert "Kafka Server started" in broker.stdout
    assert "component running broker-1" in supervisor.stdout
    assert (unknown.status, "PEN-512" in unknown.stderr) == (2, True)


@pytest.mark.long
def test_platforms_run_side_by_side(penstock: Penstock) -> None:
    first = penstock("up", "--json").json
    second = penstock("up", "--name", "second", "--json").json
    try:
        assert first["bootstrap"] != second["bootstrap"]
        assert penstock("topics", "create", "here").status == 0
        assert "here" not in topics_at(second["bootstrap"])
    finally:
        assert penstock("down", "--name", "second", "--delete-data", "--yes").status == 0
    assert penstock("platform", "status").status == 0


def test_commands_without_a_platform_say_how_to_get_one(penstock: Penstock) -> None:
    outcome = penstock("topics", "list")

    assert outcome.status == 1
    assert outcome.stderr == (
        "error[PEN-508]: the local platform `trial` is not running\n\n"
        "hint: `penstock up --name trial` starts it; "
        "`--bootstrap HOST:PORT` chooses another cluster\n"
    )
    assert penstock("platform", "status").status == 1
    assert penstock("down").stdout == "nothing was running\n"
    assert penstock("platform", "broker", "stop", "1").status == 1


@pytest.mark.long
def test_three_brokers_replicate_and_survive_one(penstock: Penstock) -> None:
    status = penstock("up", "--brokers", "3", "--json", timeout_seconds=120).json
    assert [broker["state"] for broker in status["brokers"]] == ["running"] * 3
    assert sum(broker["resident_bytes"] for broker in status["brokers"]) < 1_200_000_000
    with Admin(Connection(bootstrap=status["bootstrap"])) as admin:
        penstock("topics", "create", "safe", "--partitions", "1")
        topics = admin.metadata().topics
        copies = {name: len(topics[name].partitions[0].replicas) for name in topics}
        known = ("safe", "_penstock.probe", "_schemas", "__consumer_offsets")
        assert [copies[name] for name in known] == [3, 3, 3, 3]
        described = penstock("topics", "describe", "safe", "--all-configs").stdout
        assert "min.insync.replicas 2 " in " ".join(described.split())

        killed = penstock("platform", "broker", "kill", "2")
        assert killed.stdout == "broker 2 is stopped\n"
        eventually(
            lambda: 2 not in admin.metadata().topics["safe"].partitions[0].isrs, within_seconds=30
        )
        assert penstock("platform", "broker", "start", "2").stdout == "broker 2 is running\n"
        eventually(
            lambda: 2 in admin.metadata().topics["safe"].partitions[0].isrs, within_seconds=60
        )


@pytest.mark.parametrize(
    "command",
    [("up",), ("platform", "status"), ("platform", "logs", "broker-1"), ("topics", "list")],
)
def test_a_data_folder_that_is_a_file_is_named(
    command: tuple[str, ...], penstock: Penstock, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("not a folder")

    outcome = penstock(*command)

    assert outcome.status == 1
    assert "PEN-900" not in outcome.stderr
    if command == ("up",):
        assert outcome.stderr.startswith(f"error[PEN-513]: `{tmp_path / 'data'}")


def test_deleting_what_never_was_says_so(penstock: Penstock) -> None:
    outcome = penstock("down", "--delete-data", "--json")

    assert (outcome.status, outcome.json["data_deleted"]) == (0, False)
