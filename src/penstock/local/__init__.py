"""The platform on one machine: a real Kafka as child processes of a small supervisor."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.local.cluster import KafkaCluster
    from penstock.local.control import BrokerState, BrokerStatus, SparkStatus, Verb, WebStatus
    from penstock.local.doctor import Check, Level, examine
    from penstock.local.errors import PlatformNotRunningError
    from penstock.local.logs import follow_log, tail_log
    from penstock.local.platform import (
        Platform,
        PlatformStatus,
        bootstrap_of,
        broker_metrics,
        registry_address,
    )

__all__ = [
    "BrokerState",
    "BrokerStatus",
    "Check",
    "KafkaCluster",
    "Level",
    "Platform",
    "PlatformNotRunningError",
    "PlatformStatus",
    "SparkStatus",
    "Verb",
    "WebStatus",
    "bootstrap_of",
    "broker_metrics",
    "examine",
    "follow_log",
    "registry_address",
    "tail_log",
]

_HOMES = {
    "KafkaCluster": "cluster",
    "BrokerState": "control",
    "BrokerStatus": "control",
    "SparkStatus": "control",
    "Verb": "control",
    "WebStatus": "control",
    "Check": "doctor",
    "Level": "doctor",
    "examine": "doctor",
    "PlatformNotRunningError": "errors",
    "follow_log": "logs",
    "tail_log": "logs",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the supervisor must start without Kafka's client.

    Half a second of `penstock up` would otherwise go into imports that the supervisor never uses.
    """
    if name not in __all__:
        raise AttributeError(name)
    module = importlib.import_module(f"penstock.local.{_HOMES.get(name, 'platform')}")
    return getattr(module, name)
