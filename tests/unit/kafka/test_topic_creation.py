import pytest

from penstock.kafka.topics.creation import (
    InvalidAssignmentError,
    InvalidTopicNameError,
    ReplicaAssignment,
    ensure_consistent,
    ensure_legal_name,
)
from penstock.names import BrokerId, Partition


def assignment(*partitions: tuple[int, list[int]]) -> list[ReplicaAssignment]:
    return [
        ReplicaAssignment(
            partition=Partition(partition), brokers=tuple(BrokerId(broker) for broker in brokers)
        )
        for partition, brokers in partitions
    ]


@pytest.mark.parametrize("name", ["orders", "a", "A.b_c-1", "x" * 249])
def test_names_that_kafka_accepts(name: str) -> None:
    ensure_legal_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "a/b", "x" * 250, "a\n"])
def test_names_that_kafka_refuses(name: str) -> None:
    with pytest.raises(InvalidTopicNameError):
        ensure_legal_name(name)


def test_an_assignment_of_each_partition_to_as_many_brokers_is_fine() -> None:
    ensure_consistent(assignment((1, [2, 3]), (0, [1, 2])))


@pytest.mark.parametrize(
    ("partitions", "reason"),
    [
        ([(0, [1]), (2, [1])], "it names the partitions 0, 2"),
        ([(0, [1]), (0, [2])], "it names the partitions 0, 0"),
        ([(0, [1, 1])], "partition 0 names a broker twice"),
        ([(0, [1, 2]), (1, [1])], "some partitions have 1 brokers, others 2"),
    ],
)
def test_an_assignment_that_does_not_fit_together_says_where(
    partitions: list[tuple[int, list[int]]], reason: str
) -> None:
    with pytest.raises(InvalidAssignmentError) as caught:
        ensure_consistent(assignment(*partitions))

    assert caught.value.message == f"the assignment does not fit together: {reason}"
