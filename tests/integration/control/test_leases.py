"""Leases in a real Kafka: one driver per pipeline, whatever its holders do."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from dataclasses import replace
from threading import Event as Signal
from typing import TYPE_CHECKING
from uuid import uuid4

import psutil
import pytest

from penstock.control import Fleet, LeaseLostError, PipelineRunningError, PipelineState
from penstock.control.acquiring import AcquiringAbandoned
from penstock.control.holders import this_process
from penstock.control.lease_records import LeaseRecord, decode_lease, encode_lease, lease_key
from penstock.control.leases import Lease
from penstock.control.status_records import STATUS_TOPIC
from penstock.events import StepFinished, StepProgressed
from penstock.kafka.tables import KafkaTable, VersionConflictError
from penstock.names import PipelineName
from support.lease_holders import holder_process
from support.processes import is_alive
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.holders import Holder
    from penstock.events import Event
    from penstock.kafka import Connection
    from support.lease_holders import HolderProcess

RACES = 24
QUICK_SECONDS = 11.0
"""Less than the time to live of a lease, and enough for a busy machine."""


@pytest.fixture
def table(connection: Connection) -> Iterator[KafkaTable]:
    with KafkaTable.open(connection, STATUS_TOPIC) as table:
        yield table


@pytest.fixture
def pipeline() -> PipelineName:
    return PipelineName(f"shop-{uuid4().hex[:12]}")


def ignore_loss(error: LeaseLostError) -> None:
    """Be told of a loss that a test does not expect."""
    raise error


def far_away() -> Holder:
    """Return a driver whose process cannot be seen from here."""
    return replace(this_process("v1"), process_set="elsewhere", host="far")


def acquire(table: KafkaTable, pipeline: PipelineName, holder: Holder | None = None) -> Lease:
    return Lease.acquire(table, pipeline, holder or this_process("v1"), on_lost=ignore_loss)


def record_of(table: KafkaTable, pipeline: PipelineName) -> LeaseRecord | None:
    entry = table.get(lease_key(pipeline))
    return decode_lease(entry.value) if entry else None


def test_a_lease_is_held_renewed_given_back_and_had_again(
    table: KafkaTable, pipeline: PipelineName
) -> None:
    first, second = this_process("v1"), this_process("v1")
    with acquire(table, pipeline, first) as lease:
        held, entry = record_of(table, pipeline), table.get(lease_key(pipeline))
        assert entry is not None
        table.wait_for(lease_key(pipeline), lambda found: found is not None and found != entry, 10)
        renewed = record_of(table, pipeline)
    given_back = record_of(table, pipeline)
    with acquire(table, pipeline, second) as again:
        epochs = (lease.epoch, again.epoch)
        had = record_of(table, pipeline)

    assert held == renewed == LeaseRecord(epoch=1, holder=first)
    assert given_back == LeaseRecord(epoch=1, holder=None)
    assert (epochs, had) == ((1, 2), LeaseRecord(epoch=2, holder=second))


def test_a_second_driver_of_this_machine_is_refused_at_once_and_told_who_runs(
    table: KafkaTable, connection: Connection, pipeline: PipelineName
) -> None:
    first = this_process("v1")
    with acquire(table, pipeline, first), KafkaTable.open(connection, STATUS_TOPIC) as other:
        before = time.monotonic()
        with pytest.raises(PipelineRunningError) as caught:
            acquire(other, pipeline)
        seconds = time.monotonic() - before

    assert caught.value.holder == first
    assert f"as process {os.getpid()} on `{first.host}` since" in caught.value.message
    assert f"`penstock stop {pipeline}`" in caught.value.hint
    assert seconds < QUICK_SECONDS


def test_a_driver_elsewhere_that_renews_its_lease_is_left_alone(
    table: KafkaTable, connection: Connection, pipeline: PipelineName
) -> None:
    """Nothing is known of its process: only the renewal shows that it lives."""
    before = time.monotonic()
    with acquire(table, pipeline, far_away()), KafkaTable.open(connection, STATUS_TOPIC) as other:
        with pytest.raises(PipelineRunningError) as caught:
            acquire(other, pipeline)
        seconds = time.monotonic() - before

    assert caught.value.holder.host == "far"
    assert seconds < QUICK_SECONDS


@pytest.mark.long
def test_a_driver_elsewhere_that_died_is_taken_over_after_its_time_and_that_is_told(
    table: KafkaTable, pipeline: PipelineName
) -> None:
    dead = LeaseRecord(epoch=7, holder=far_away())
    table.put_if(lease_key(pipeline), encode_lease(dead), version=None)
    told: list[Event] = []

    before = time.monotonic()
    lease = Lease.acquire(
        table, pipeline, this_process("v1"), on_lost=ignore_loss, emit=told.append
    )
    seconds = time.monotonic() - before
    lease.release()

    assert lease.epoch == 8
    assert 12 <= seconds < 40
    notice, progress = told[0], [event for event in told if isinstance(event, StepProgressed)]
    assert isinstance(notice, StepFinished)
    assert (f"process {os.getpid()} on `far`" in notice.step, "12 s" in notice.detail) == (
        True,
        True,
    )
    assert (progress[0].done, progress[-1].done, progress[0].total) == (0, 11, 12)


def test_a_wait_ends_when_nobody_wants_the_lease_any_more(
    table: KafkaTable, pipeline: PipelineName
) -> None:
    dead = LeaseRecord(epoch=7, holder=far_away())
    table.put_if(lease_key(pipeline), encode_lease(dead), version=None)
    abandoned = Signal()

    def emit(event: Event) -> None:
        if isinstance(event, StepProgressed) and event.done >= 1:
            abandoned.set()

    with pytest.raises(AcquiringAbandoned):
        Lease.acquire(
            table,
            pipeline,
            this_process("v1"),
            on_lost=ignore_loss,
            emit=emit,
            abandoned=abandoned,
        )

    assert record_of(table, pipeline) == dead


def test_a_lease_that_is_given_back_during_a_wait_is_had_at_once(
    table: KafkaTable,
    connection: Connection,
    pipeline: PipelineName,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Renewals are further apart than what happens here takes."""
    monkeypatch.setattr("penstock.control.leases.RENEW_SECONDS", 60.0)
    with KafkaTable.open(connection, STATUS_TOPIC) as other:
        first = acquire(other, pipeline, far_away())

        def emit(event: Event) -> None:
            if isinstance(event, StepProgressed):
                first.release()

        before = time.monotonic()
        second = Lease.acquire(table, pipeline, this_process("v1"), on_lost=ignore_loss, emit=emit)
        seconds = time.monotonic() - before
        second.release()

    assert (first.epoch, second.epoch) == (1, 2)
    assert seconds < QUICK_SECONDS


def test_a_holder_that_was_taken_over_is_told_soon(
    table: KafkaTable, connection: Connection, pipeline: PipelineName
) -> None:
    lost: list[LeaseLostError] = []
    lease = Lease.acquire(table, pipeline, this_process("v1"), on_lost=lost.append)
    entry = table.get(lease_key(pipeline))
    assert entry is not None
    taker = LeaseRecord(epoch=2, holder=far_away())

    with KafkaTable.open(connection, STATUS_TOPIC) as other:
        # A renewal may come in between.
        eventually(lambda: wrote(other, pipeline, taker), within_seconds=10)
        eventually(lambda: lost, within_seconds=8)
    lease.release()

    assert [error.reason for error in lost] == [f"process {os.getpid()} on `far` has taken over"]
    assert lease.lost is lost[0]
    assert record_of(table, pipeline) == taker


def wrote(table: KafkaTable, pipeline: PipelineName, record: LeaseRecord) -> bool:
    table.refresh()
    entry = table.get(lease_key(pipeline))
    try:
        table.put_if(
            lease_key(pipeline), encode_lease(record), version=entry.version if entry else None
        )
    except VersionConflictError:
        return False
    return True


@pytest.mark.long
@pytest.mark.timeout(300)
def test_of_two_processes_that_start_at_once_exactly_one_runs_every_time(
    connection: Connection, pipeline: PipelineName
) -> None:
    """Each lease is raced for when nobody ever had it, and when it was given back."""
    names = [f"{pipeline}-{number}" for number in range(RACES // 3)] * 3
    with ExitStack() as stack:
        racers = [
            stack.enter_context(holder_process("race", connection.bootstrap)) for _ in range(2)
        ]
        ready = [racer.told() for racer in racers]
        outcomes = [raced(racers, name) for name in names]

    assert ready == [["ready"], ["ready"]]
    assert [[words[0] for words in answers] for answers in outcomes] == [["won", "refused"]] * RACES
    # The loser is told who has won; the winner's epoch counts the winners.
    assert [won[1] for won, _ in outcomes] == [refused[1] for _, refused in outcomes]
    assert {won[1] for won, _ in outcomes} <= {str(racer.process.pid) for racer in racers}
    assert [int(won[2]) for won, _ in outcomes] == [
        epoch for epoch in (1, 2, 3) for _ in range(RACES // 3)
    ]


def raced(racers: list[HolderProcess], pipeline: str) -> list[list[str]]:
    """Let both try to have the lease at once; return their answers, that of the winner first."""
    for racer in racers:
        racer.tell(pipeline)
    answers = [racer.told() for racer in racers]
    for racer in racers:
        racer.tell("go on")
    assert [racer.told() for racer in racers] == [["done"], ["done"]]
    return sorted(answers, reverse=True)


@pytest.mark.long
def test_a_killed_holder_is_shown_as_lost_within_15_seconds_and_taken_over_at_once(
    connection: Connection, table: KafkaTable, pipeline: PipelineName
) -> None:
    with (
        Fleet(connection) as fleet,
        holder_process("hold", connection.bootstrap, pipeline) as holder,
    ):
        assert holder.told()[0] == "held"
        eventually(lambda: fleet.list(), within_seconds=30)
        before = fleet.show(pipeline).state
        holder.process.kill()
        holder.process.wait()
        killed = time.monotonic()
        eventually(lambda: fleet.show(pipeline).state is PipelineState.LOST, within_seconds=60)
        lost_after = time.monotonic() - killed
        view = fleet.show(pipeline)
        began = time.monotonic()
        lease = acquire(table, pipeline)
        seconds = time.monotonic() - began
        newcomer = fleet.show(pipeline)
        lease.release()

    assert before is PipelineState.STARTING
    assert lost_after < 45
    assert view.driver is not None
    assert view.why is not None
    assert f"from process {holder.process.pid} on" in view.why
    assert (lease.epoch, newcomer.state) == (2, PipelineState.STARTING)
    assert seconds < QUICK_SECONDS


@pytest.mark.long
def test_a_frozen_holder_is_taken_over_and_kills_its_spark_when_it_wakes_up(
    connection: Connection, table: KafkaTable, pipeline: PipelineName
) -> None:
    """SIGSTOP for longer than the lease, another start, SIGCONT: the first writes no more."""
    with holder_process("hold", connection.bootstrap, pipeline) as holder:
        word, pid = holder.told()
        jvm = psutil.Process(int(pid))
        holder.process.send_signal(signal.SIGSTOP)
        lease = acquire(table, pipeline)
        lived_on = jvm.is_running()
        holder.process.send_signal(signal.SIGCONT)
        woke = time.monotonic()
        eventually(lambda: not is_alive(jvm), within_seconds=20)
        seconds = time.monotonic() - woke
        status = holder.process.wait(timeout=30)
        assert holder.process.stderr is not None
        said = holder.process.stderr.read()
        kept = record_of(table, pipeline)
        lease.release()

    assert (word, lived_on, status) == ("held", True, 1)
    assert "LeaseLostError" in said
    assert "it was frozen for" in said
    assert seconds < QUICK_SECONDS
    assert (lease.epoch, lease.lost) == (2, None)
    assert kept is not None
    assert kept.holder is not None
    assert (kept.epoch, kept.holder.pid) == (2, os.getpid())
