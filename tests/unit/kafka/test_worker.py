"""Workers without a cluster: arguments that do not fit, and what a handler looks like."""

import json
from datetime import UTC, datetime

import pytest

import penstock as ps
from penstock.kafka import InvalidWorkerError, Record, TopicPartition, WorkerHealth, WorkerState
from penstock.names import GroupId, Offset, Partition, TopicName


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"retries": -1}, "`retries` is -1"),
        ({"dead_letters": "orders"}, "`orders` is both read and given the dead letters"),
        ({"max_handling_seconds": 5.0}, "`max_handling_seconds` is 5"),
        (
            {"retries": 3, "retry_delay_seconds": 5.0, "max_handling_seconds": 35.0},
            "3 retries wait 35 s in all, and a record may take 35 s",
        ),
    ],
    ids=["retries", "dead letters", "short", "waits"],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidWorkerError) as caught:
        ps.worker("orders", group="billing", **arguments)  # type: ignore[call-overload]  # on purpose
    assert caught.value.message == f"this worker cannot be made: {reason}"


def test_an_asynchronous_handler_is_refused() -> None:
    async def bill(record: Record) -> None:
        del record

    with pytest.raises(InvalidWorkerError):
        ps.worker("orders", group="billing")(bill)  # type: ignore[arg-type]  # on purpose


def test_waits_double_up_to_half_a_minute() -> None:
    @ps.worker("orders", group="billing", retries=4, retry_delay_seconds=5)
    def bill(record: Record) -> None:
        del record

    assert bill.options.retry_delays() == [5, 10, 20, 30]


def test_calling_a_worker_calls_its_handler() -> None:
    seen: list[bytes | None] = []

    @ps.worker(["orders", "returns"], group="billing")
    def bill(record: Record) -> None:
        seen.append(record.value)

    bill(
        Record(
            topic=TopicName("orders"),
            partition=Partition(0),
            offset=Offset(0),
            key=None,
            value=b"1",
        )
    )
    assert (seen, bill.options.topics) == ([b"1"], ("orders", "returns"))


@pytest.mark.parametrize(
    ("state", "overdue", "healthy"),
    [
        (WorkerState.IDLE, False, False),
        (WorkerState.STARTING, False, True),
        (WorkerState.RUNNING, False, True),
        (WorkerState.RUNNING, True, False),
        (WorkerState.STOPPING, False, True),
        (WorkerState.STOPPED, False, False),
        (WorkerState.FAILED, False, False),
    ],
)
def test_a_worker_is_healthy_while_it_lives_and_is_not_stuck(
    state: WorkerState,
    overdue: bool,  # noqa: FBT001 - a parameter of the test
    healthy: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    health = WorkerHealth(
        state=state,
        topics=(TopicName("orders"),),
        group=GroupId("billing"),
        handled=3,
        failed_attempts=1,
        dead_lettered=0,
        overtaken=0,
        partitions=(TopicPartition(TopicName("orders"), Partition(0)),),
        lag=5,
        last_record_at=datetime(2026, 5, 1, tzinfo=UTC),
        overdue=overdue,
        failure=None,
    )
    assert json.loads(health.as_json()) == {
        "state": state.value,
        "healthy": healthy,
        "topics": ["orders"],
        "group": "billing",
        "handled": 3,
        "failed_attempts": 1,
        "dead_lettered": 0,
        "overtaken": 0,
        "partitions": ["orders-0"],
        "lag": 5,
        "last_record_at": "2026-05-01T00:00:00+00:00",
        "overdue": overdue,
        "failure": None,
    }
