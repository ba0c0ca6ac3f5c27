"""The platform on one machine: a real Kafka as child processes of a small supervisor."""

from penstock.local.cluster import KafkaCluster
from penstock.local.control import BrokerState, BrokerStatus, Verb
from penstock.local.platform import Platform, PlatformNotRunningError, PlatformStatus
from penstock.settings import PlatformSettings

__all__ = [
    "BrokerState",
    "BrokerStatus",
    "KafkaCluster",
    "Platform",
    "PlatformNotRunningError",
    "PlatformStatus",
    "Verb",
    "bootstrap_of",
]


def bootstrap_of(platform: PlatformSettings) -> str:
    """Return the addresses of the running platform's brokers."""
    return Platform(platform).bootstrap()
