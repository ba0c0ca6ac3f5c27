"""The Kafka cluster: connections, administration, producers, consumers, groups and lag."""

from penstock.kafka.connection import Connection
from penstock.kafka.errors import (
    AuthenticationFailedError,
    ClusterBusyError,
    ClusterError,
    ClusterUnreachableError,
    NotAuthorizedError,
    RequestRefusedError,
    RequestTimedOutError,
    UnknownTopicError,
)

__all__ = [
    "AuthenticationFailedError",
    "ClusterBusyError",
    "ClusterError",
    "ClusterUnreachableError",
    "Connection",
    "NotAuthorizedError",
    "RequestRefusedError",
    "RequestTimedOutError",
    "UnknownTopicError",
]
