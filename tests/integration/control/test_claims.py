"""What a claim publishes in a real Kafka, from its beginning to its last word."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.control import (
    Claim,
    Claimant,
    Fleet,
    FlowState,
    PipelineRunningError,
    PipelineState,
    UnknownPipelineError,
)
from penstock.control.status_records import STATUS_TOPIC, status_of_key
from penstock.engine.events import FlowStarted
from penstock.kafka.tables import KafkaTable
from penstock.local.cluster import KafkaCluster
from penstock.names import PipelineName
from support.pipeline_events import DETECT, NOON, HiccupError, batch
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.control import PipelineView
    from penstock.kafka import Connection

STARTED = FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=None)


@pytest.fixture
def claimant() -> Claimant:
    pipeline = PipelineName(f"shop-{uuid4().hex[:12]}")
    return Claimant(pipeline=pipeline, profile="local", code_version="v1")


@pytest.fixture
def fleet(connection: Connection) -> Iterator[Fleet]:
    with Fleet(connection) as fleet:
        yield fleet


def await_state(fleet: Fleet, claimant: Claimant, state: PipelineState) -> PipelineView:
    def has_come() -> bool:
        views = {view.pipeline: view for view in fleet.list()}
        found = views.get(claimant.pipeline)
        return found is not None and found.record is not None and found.state is state

    eventually(has_come, within_seconds=15)
    return fleet.show(claimant.pipeline)


def run_into(error: BaseException, connection: Connection, claimant: Claimant) -> None:
    """Do what a run does that ends with `error`."""
    with Claim(connection, claimant, clean=lambda text: text.replace("hunter2", "***")) as claim:
        claim.await_lease()
        raise error


def test_what_earlier_drivers_said_is_removed(
    connection: Connection, fleet: Fleet, claimant: Claimant
) -> None:
    for _ in range(3):
        with Claim(connection, claimant) as claim:
            claim.await_lease()
            await_state(fleet, claimant, PipelineState.STARTING)
    with KafkaTable.open(connection, STATUS_TOPIC) as table:
        said_by = [status_of_key(key) for key in table.snapshot()]

    assert [said for said in said_by if said and said[0] == claimant.pipeline] == [
        (claimant.pipeline, 3)
    ]


def test_a_run_is_shown_from_its_start_to_its_end(
    connection: Connection, fleet: Fleet, claimant: Claimant
) -> None:
    with Claim(connection, claimant) as claim:
        publisher = claim.await_lease()
        starting = await_state(fleet, claimant, PipelineState.STARTING)
        publisher.begin([DETECT], at_first=FlowState.STARTING)
        publisher.describe(spark_application_id="local-1", spark_ui="http://127.0.0.1:4040")
        publisher.describe(health="http://127.0.0.1:8080")
        publisher.notify(STARTED)
        publisher.notify(batch())
        running = await_state(fleet, claimant, PipelineState.RUNNING)
        publisher.stop("somebody has stopped it")
        stopping = await_state(fleet, claimant, PipelineState.STOPPING)
    ended = fleet.show(claimant.pipeline)

    assert starting.record is not None
    assert (starting.record.flows, starting.record.epoch) == ((), 1)
    assert running.record is not None
    addresses = running.record.addresses
    assert (addresses.spark_application_id, addresses.health) == (
        "local-1",
        "http://127.0.0.1:8080",
    )
    assert addresses.spark_ui == "http://127.0.0.1:4040"
    assert [(flow.flow, flow.state) for flow in running.record.flows] == [
        (DETECT, FlowState.RUNNING)
    ]
    assert stopping.why == "somebody has stopped it"
    assert (ended.state, ended.why) == (PipelineState.STOPPED, "somebody has stopped it")
    assert ended.record is not None
    assert ended.record.code_version == "v1"


def test_a_run_that_fails_says_so_with_code_and_sentence_and_gives_the_lease_back(
    connection: Connection, fleet: Fleet, claimant: Claimant
) -> None:
    with pytest.raises(HiccupError):
        run_into(HiccupError("`hunter2` was refused"), connection, claimant)
    view = fleet.show(claimant.pipeline)
    before = time.monotonic()
    with Claim(connection, claimant) as again:
        again.await_lease()
        seconds = time.monotonic() - before

    assert (view.state, view.why) == (PipelineState.FAILED, "`***` was refused")
    assert view.record is not None
    assert view.record.error is not None
    assert view.record.error.code == "PEN-999"
    assert seconds < 15


def test_ctrl_c_during_the_start_is_no_failure(
    connection: Connection, fleet: Fleet, claimant: Claimant
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_into(KeyboardInterrupt(), connection, claimant)

    assert fleet.show(claimant.pipeline).state is PipelineState.STOPPED


def test_a_refused_claim_leaves_the_status_of_the_running_one_alone(
    connection: Connection, fleet: Fleet, claimant: Claimant
) -> None:
    with Claim(connection, claimant) as claim:
        publisher = claim.await_lease()
        publisher.begin([DETECT], at_first=FlowState.STARTING)
        publisher.notify(STARTED)
        before = await_state(fleet, claimant, PipelineState.RUNNING)
        with pytest.raises(PipelineRunningError), Claim(connection, claimant) as second:
            second.await_lease()
        after = fleet.show(claimant.pipeline)

    assert (after.state, after.driver) == (PipelineState.RUNNING, before.driver)


def test_a_pipeline_that_never_ran_is_unknown_and_its_name_is_guessed(
    connection: Connection, fleet: Fleet, claimant: Claimant
) -> None:
    with Claim(connection, claimant) as claim:
        claim.await_lease()
        await_state(fleet, claimant, PipelineState.STARTING)
        with pytest.raises(UnknownPipelineError) as caught:
            fleet.show(PipelineName(f"{claimant.pipeline}x"))

    assert caught.value.nearest == claimant.pipeline


@pytest.mark.long
@pytest.mark.timeout(240)
def test_while_kafka_is_away_a_run_goes_on_keeps_its_lease_and_is_published_afterwards(
    tmp_path: Path, claimant: Claimant
) -> None:
    """Away for longer than a lease lasts: nobody can have taken over meanwhile."""
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        broker = cluster.broker_ids[0]
        with Claim(cluster.connection, claimant) as claim:
            publisher = claim.await_lease()
            publisher.begin([DETECT], at_first=FlowState.STARTING)
            publisher.notify(STARTED)
            cluster.kill(broker)
            away = time.monotonic()
            eventually(lambda: time.monotonic() - away > 16, within_seconds=20)
            before = time.monotonic()
            for number in range(2000):
                publisher.notify(batch(batch_id=number))
            seconds = time.monotonic() - before
            cluster.start_broker(broker)
            cluster.await_ready()
            with Fleet(cluster.connection) as fleet:
                eventually(
                    lambda: last_batch(fleet.show(claimant.pipeline)) == 1999, within_seconds=40
                )
                state = fleet.show(claimant.pipeline).state
            lost = claim.lost
        with Fleet(cluster.connection) as fleet:
            ended = fleet.show(claimant.pipeline).state

    assert (seconds < 1, lost) == (True, None)
    assert (state, ended) == (PipelineState.RUNNING, PipelineState.STOPPED)


def last_batch(view: PipelineView) -> int | None:
    flows = view.record.flows if view.record else ()
    return flows[0].last_batch.batch_id if flows and flows[0].last_batch else None
