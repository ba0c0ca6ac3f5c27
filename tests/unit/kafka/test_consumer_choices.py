"""What a consumer may be asked for, checked before anything is tried."""

import re

import pytest
from confluent_kafka import KafkaError

from penstock.kafka import (
    Assignor,
    Consumer,
    GroupProtocol,
    InvalidConsumerError,
    NotAuthorizedError,
    UnknownTopicError,
)
from penstock.kafka.consumer.errors import client_fault, commit_fault
from penstock.kafka.consumer.membership import Membership
from penstock.kafka.consumer.subscription import Subscription
from penstock.names import GroupId

NOWHERE = "127.0.0.1:1"
MEMBER = Membership(group=GroupId("g"), static_member_id="m")


def test_the_classic_protocol_sends_ten_heartbeats_a_session_at_most_three_seconds_apart() -> None:
    short = Membership(group=GroupId("g"), session_timeout_seconds=6)
    long = Membership(group=GroupId("g"), session_timeout_seconds=60)

    assert short.client_config() == {
        "group.id": "g",
        "group.protocol": "classic",
        "max.poll.interval.ms": 300_000,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 600,
    }
    assert long.client_config()["heartbeat.interval.ms"] == 3000


def test_the_consumer_protocol_leaves_sessions_to_the_broker() -> None:
    membership = Membership(
        group=GroupId("g"), protocol=GroupProtocol.CONSUMER, static_member_id="m"
    )

    assert membership.client_config() == {
        "group.id": "g",
        "group.protocol": "consumer",
        "group.instance.id": "m",
        "max.poll.interval.ms": 300_000,
        "group.remote.assignor": "uniform",
    }


def test_consumers_without_a_group_share_no_name() -> None:
    names = {Membership(group=None).client_config()["group.id"] for _ in range(2)}

    assert len(names) == 2


@pytest.mark.parametrize(
    ("protocol", "assignor"),
    [
        (GroupProtocol.CLASSIC, Assignor.UNIFORM),
        (GroupProtocol.CONSUMER, Assignor.ROUND_ROBIN),
        (GroupProtocol.CONSUMER, Assignor.COOPERATIVE_STICKY),
    ],
)
def test_an_assignor_must_fit_the_protocol(protocol: GroupProtocol, assignor: Assignor) -> None:
    with pytest.raises(InvalidConsumerError) as caught:
        Membership(group=GroupId("g"), protocol=protocol, assignor=assignor)
    assert "`range`" in caught.value.hint


def test_polls_may_not_be_asked_for_more_often_than_signs_of_life() -> None:
    with pytest.raises(InvalidConsumerError) as caught:
        Membership(group=GroupId("g"), session_timeout_seconds=45, max_poll_interval_seconds=30)
    assert "(30) is shorter than `session_timeout_seconds` (45)" in caught.value.message


def test_an_empty_group_name_is_refused() -> None:
    with pytest.raises(InvalidConsumerError):
        Consumer(NOWHERE, ["orders"], group="")


def test_topics_without_group_need_a_start() -> None:
    with pytest.raises(InvalidConsumerError) as caught:
        Consumer(NOWHERE, ["orders"])
    assert "Start.EARLIEST" in caught.value.hint


def test_one_topic_given_as_text_is_a_mistake() -> None:
    with pytest.raises(InvalidConsumerError) as caught:
        Subscription("orders")
    assert caught.value.hint == 'pass a list: `["orders"]`'


def test_an_empty_list_of_topics_is_a_mistake() -> None:
    with pytest.raises(InvalidConsumerError):
        Subscription([])


def test_named_topics_must_exist() -> None:
    with pytest.raises(UnknownTopicError) as caught:
        Subscription(["orders", "paymnets"]).matching(["orders", "payments"])
    assert caught.value.hint == "did you mean `payments`?"


def test_a_topic_named_twice_is_read_once() -> None:
    assert Subscription(["b", "a", "b"]).matching(["a", "b", "c"]) == ("b", "a")


def test_a_pattern_is_pythons_and_matches_whole_names() -> None:
    known = ["orders-1", "orders-22", "orders-x", "my-orders-1", "__orders-1"]

    assert Subscription(re.compile(r"orders-\d+")).matching(known) == ("orders-1", "orders-22")


def test_kafkas_own_topics_are_matched_only_on_purpose() -> None:
    known = ["orders", "__consumer_offsets"]

    assert Subscription(re.compile(".*")).matching(known) == ("orders",)
    assert Subscription(re.compile("__.*")).matching(known) == ("__consumer_offsets",)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError._MAX_POLL_EXCEEDED, "PEN-474"),  # noqa: SLF001 - a public constant
        (KafkaError.FENCED_INSTANCE_ID, "PEN-475"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, NotAuthorizedError.code),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopicError.code),
    ],
)
def test_what_the_client_reports_becomes_an_error_of_ours(code: int, expected: str) -> None:
    fault = client_fault(KafkaError(code), "read", member=MEMBER, bootstrap=NOWHERE, topic="orders")

    assert fault.code == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.ILLEGAL_GENERATION, "PEN-473"),
        (KafkaError.UNKNOWN_MEMBER_ID, "PEN-473"),
        (KafkaError.STALE_MEMBER_EPOCH, "PEN-473"),
        (KafkaError.FENCED_INSTANCE_ID, "PEN-475"),
        (KafkaError.REBALANCE_IN_PROGRESS, "PEN-407"),
        (KafkaError.NOT_COORDINATOR, "PEN-407"),
    ],
)
def test_a_commit_fails_for_good_or_for_now(code: int, expected: str) -> None:
    assert commit_fault(KafkaError(code), member=MEMBER, bootstrap=NOWHERE).code == expected
