"""Whether the process that holds a lease is still there."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.control.holders import Holder, ProcessState, process_state, this_process
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its end."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def holder_of(pid: int) -> Holder:
    began = psutil.Process(pid).create_time() - psutil.boot_time()
    return replace(this_process("v"), pid=pid, boot_seconds=began)


def test_this_process_is_alive() -> None:
    assert process_state(this_process("v")) is ProcessState.ALIVE


def test_two_runs_of_one_process_are_told_apart() -> None:
    assert this_process("v").driver_id != this_process("v").driver_id


def test_a_stopped_process_is_frozen_until_it_goes_on(child: subprocess.Popen[bytes]) -> None:
    holder = holder_of(child.pid)
    before = process_state(holder)

    child.send_signal(signal.SIGSTOP)
    eventually(lambda: process_state(holder) is ProcessState.FROZEN, within_seconds=5)
    child.send_signal(signal.SIGCONT)

    assert before is ProcessState.ALIVE
    eventually(lambda: process_state(holder) is ProcessState.ALIVE, within_seconds=5)


def test_a_killed_process_is_gone_before_and_after_its_parent_has_noticed(
    child: subprocess.Popen[bytes],
) -> None:
    holder = holder_of(child.pid)
    child.kill()
    eventually(lambda: process_state(holder) is ProcessState.GONE, within_seconds=5)

    child.wait()

    assert process_state(holder) is ProcessState.GONE


def test_a_process_that_has_the_number_of_another_is_not_taken_for_it() -> None:
    holder = this_process("v")

    assert process_state(replace(holder, boot_seconds=holder.boot_seconds - 60)) is (
        ProcessState.GONE
    )


def test_processes_of_other_machines_and_containers_are_out_of_sight() -> None:
    assert process_state(replace(this_process("v"), process_set="another")) is (
        ProcessState.OUT_OF_SIGHT
    )
