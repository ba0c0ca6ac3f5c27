import signal
from pathlib import Path

import pytest

from penstock.local.broker import Folders, new_shape
from penstock.local.exits import describe_exit, log_size

SHAPE = new_shape(brokers=1, heap_mb=192)
BROKER = SHAPE.brokers[0]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    folders = Folders(root=tmp_path)
    folders.logs.mkdir()
    return folders


def write_log(folders: Folders, text: str) -> None:
    with folders.log("broker-1").open("a") as file:
        file.write(text)


def test_a_signal_is_named(folders: Folders) -> None:
    assert describe_exit(folders, BROKER, -signal.SIGKILL, log_start=0) == "killed by SIGKILL"


def test_a_full_disk_names_the_folder(folders: Folders) -> None:
    write_log(
        folders,
        "[t] ERROR Error while writing (x.Y)\njava.io.IOException: No space left on device\n",
    )

    reason = describe_exit(folders, BROKER, 1, log_start=0)

    assert reason == f"the disk of `{folders.data(BROKER)}` is full"


def test_no_memory_names_the_setting(folders: Folders) -> None:
    folders.output(BROKER).write_text(
        "# There is insufficient memory for the Java Runtime Environment to continue.\n"
    )

    assert "platform.heap_mb" in describe_exit(folders, BROKER, 1, log_start=0)


def test_the_cause_at_the_end_of_a_stack_trace_is_quoted(folders: Folders) -> None:
    write_log(
        folders,
        "[t] ERROR Exiting Kafka due to fatal exception during startup. (kafka.Kafka$)\n"
        "java.lang.RuntimeException: outer\n\tat kafka.Kafka.main(Kafka.scala)\n"
        "Caused by: java.io.IOException: inner\n\tat kafka.Kafka.main(Kafka.scala)\n",
    )

    reason = describe_exit(folders, BROKER, 1, log_start=0)

    assert reason == f"exit status 1: inner (see `{folders.log('broker-1')}`)"


def test_the_words_of_an_earlier_run_are_not_quoted(folders: Folders) -> None:
    write_log(folders, "[t] ERROR Address already in use (x.Y)\n")
    start = log_size(folders, BROKER)

    assert describe_exit(folders, BROKER, 3, log_start=start) == "exit status 3"


def test_a_log_rotated_meanwhile_is_read_from_its_beginning(folders: Folders) -> None:
    write_log(folders, "[t] FATAL short (x.Y)\n")

    reason = describe_exit(folders, BROKER, 1, log_start=10_000)

    assert reason == f"exit status 1: short (see `{folders.log('broker-1')}`)"


def test_what_our_own_servers_say_last_is_quoted(folders: Folders) -> None:
    """Their layout has room for a reason, which most lines do not have."""
    write_log(folders, "[t] ERROR the port is taken  (penstock.console.process)\n")

    reason = describe_exit(folders, BROKER, 2, log_start=0)

    assert reason.startswith("exit status 2: the port is taken (see ")
