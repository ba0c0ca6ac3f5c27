"""The border: what the client reports becomes an error of ours, by its code."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.errors import (
    AuthenticationFailedError,
    ClusterBusyError,
    ClusterError,
    ClusterUnreachableError,
    NotAuthorizedError,
    RequestRefusedError,
    RequestTimedOutError,
    UnknownTopicError,
    translated,
)

NAMES = [
    ("TOPIC_AUTHORIZATION_FAILED", NotAuthorizedError),
    ("GROUP_AUTHORIZATION_FAILED", NotAuthorizedError),
    ("CLUSTER_AUTHORIZATION_FAILED", NotAuthorizedError),
    ("_AUTHENTICATION", AuthenticationFailedError),
    ("SASL_AUTHENTICATION_FAILED", AuthenticationFailedError),
    ("_TRANSPORT", ClusterUnreachableError),
    ("_ALL_BROKERS_DOWN", ClusterUnreachableError),
    ("_TIMED_OUT", RequestTimedOutError),
    ("REQUEST_TIMED_OUT", RequestTimedOutError),
    ("UNKNOWN_TOPIC_OR_PART", UnknownTopicError),
    ("NOT_LEADER_FOR_PARTITION", ClusterBusyError),
    ("COORDINATOR_LOAD_IN_PROGRESS", ClusterBusyError),
    ("POLICY_VIOLATION", RequestRefusedError),
    ("INVALID_CONFIG", RequestRefusedError),
]


@pytest.mark.parametrize(("name", "kind"), NAMES)
def test_each_code_becomes_the_error_that_says_what_to_do(
    name: str, kind: type[ClusterError]
) -> None:
    err = KafkaException(KafkaError(getattr(KafkaError, name), "a text nobody looks at"))

    fault = translated(err, action="list topics", bootstrap="kafka:9092", topic="orders")

    assert type(fault) is kind


def test_a_refusal_names_the_address_and_what_was_tried() -> None:
    err = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed")

    fault = translated(err, action="describe topic `orders`", bootstrap="kafka:9092")

    assert fault.as_dict() == {
        "code": "PEN-403",
        "message": "`kafka:9092` refuses to describe topic `orders`: Topic authorization failed",
        "hint": "ask for an ACL for this user, or choose another profile with `--profile`",
        "origin": None,
        "retryable": False,
    }


def test_an_unknown_topic_comes_with_the_nearest_name() -> None:
    err = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)

    fault = translated(
        err, action="x", bootstrap="b", topic="ordres", known_topics=["payments", "orders"]
    )

    assert (fault.message, fault.hint) == (
        "topic `ordres` does not exist",
        "did you mean `orders`?",
    )
