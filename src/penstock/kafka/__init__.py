"""The Kafka cluster: connections, administration, producers, consumers, groups and lag."""

from penstock.kafka.admin import Admin
from penstock.kafka.connection import Connection
from penstock.kafka.errors import (
    AuthenticationFailedError,
    ClusterBusyError,
    ClusterError,
    ClusterUnreachableError,
    NotAuthorizedError,
    RequestRefusedError,
    RequestTimedOutError,
    UnknownPartitionError,
    UnknownTopicError,
)
from penstock.kafka.offsets import (
    Isolation,
    NewestRecord,
    TopicPartition,
    end_offsets,
    first_offsets,
    newest_records,
    offsets_at,
)
from penstock.kafka.reachability import InvalidAddressError

__all__ = [
    "Admin",
    "AuthenticationFailedError",
    "ClusterBusyError",
    "ClusterError",
    "ClusterUnreachableError",
    "Connection",
    "InvalidAddressError",
    "Isolation",
    "NewestRecord",
    "NotAuthorizedError",
    "RequestRefusedError",
    "RequestTimedOutError",
    "TopicPartition",
    "UnknownPartitionError",
    "UnknownTopicError",
    "end_offsets",
    "first_offsets",
    "newest_records",
    "offsets_at",
]
