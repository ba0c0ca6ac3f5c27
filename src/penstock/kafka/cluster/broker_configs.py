"""Changing the dynamic configs of one broker, or of all brokers together.

A change is planned first: names are checked, because brokers accept any, and what is in force is
shown beside what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.cluster.brokers import ensure_broker
from penstock.kafka.cluster.configs import (
    ConfigChange,
    ConfigSource,
    alter_broker_configs,
    broker_configs,
    config_changes,
    configs_after,
    ensure_dynamic_configs,
    ensure_known_configs,
)
from penstock.kafka.cluster.defaults import alter_cluster_defaults, cluster_default_configs
from penstock.names import BrokerId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigAlteration, ConfigEntry

_LISTING = "penstock cluster config get --all"
# Configs of a single listener have its name in theirs, so no broker can list them beforehand.
_LISTENER_PREFIX = "listener.name."


@dataclass(frozen=True, slots=True)
class OneBroker:
    """The broker whose configs are meant."""

    broker_id: BrokerId

    def __str__(self) -> str:
        """Return `broker 1`."""
        return f"broker {self.broker_id}"


@dataclass(frozen=True, slots=True)
class AllBrokers:
    """The defaults for all brokers; a broker's own configs are stronger."""

    def __str__(self) -> str:
        """Return `all brokers`."""
        return "all brokers"


BrokerTarget = OneBroker | AllBrokers


def current_configs(admin: Admin, target: BrokerTarget) -> tuple[ConfigEntry, ...]:
    """Return all configs of a broker, or the dynamic ones that hold for all brokers.

    Raises:
        UnknownBrokerError: the broker is not in the cluster.
        ClusterDefaultsNotVisibleError: all brokers are meant, over another protocol than
            `PLAINTEXT`.
    """
    if isinstance(target, AllBrokers):
        return cluster_default_configs(admin)
    ensure_broker(admin, target.broker_id)
    return broker_configs(admin, target.broker_id)


def plan_broker_configs(
    admin: Admin, target: BrokerTarget, alterations: Sequence[ConfigAlteration]
) -> tuple[ConfigEntry | None, ...]:
    """Check the alterations and return what each of them would replace; nothing is changed.

    Raises:
        UnknownBrokerError: the broker is not in the cluster.
        UnknownConfigError: with the nearest name.
        ReadOnlyConfigError: only a restart can change it.
    """
    current = current_configs(admin, target)
    names = [item.name for item in alterations]
    possible = ensure_known_broker_configs(admin, names, current)
    ensure_dynamic_configs(names, possible)
    by_name = {entry.name: entry for entry in current}
    return tuple(by_name.get(item.name) for item in alterations)


def ensure_known_broker_configs(
    admin: Admin, names: Sequence[str], current: Sequence[ConfigEntry]
) -> tuple[ConfigEntry, ...]:
    """Check names against `current` and all that a broker has; return the latter.

    Raises:
        UnknownConfigError: with the nearest name.
    """
    some_broker = next(BrokerId(broker) for broker in sorted(admin.metadata().brokers))
    possible = broker_configs(admin, some_broker)
    listable = [name for name in names if not name.startswith(_LISTENER_PREFIX)]
    ensure_known_configs(listable, (*possible, *current), owner="brokers", listing=_LISTING)
    return possible


def apply_broker_configs(
    admin: Admin, target: BrokerTarget, alterations: Sequence[ConfigAlteration]
) -> tuple[ConfigChange, ...]:
    """Change the configs, all or none, and return what was and what is in force.

    Raises:
        InvalidConfigValueError: a value is not accepted; nothing was changed.
    """
    old = current_configs(admin, target)
    if isinstance(target, AllBrokers):
        alter_cluster_defaults(admin, alterations)
        source = ConfigSource.CLUSTER
    else:
        alter_broker_configs(admin, target.broker_id, alterations)
        source = ConfigSource.BROKER
    new = configs_after(alterations, source, lambda: current_configs(admin, target))
    return config_changes((item.name for item in alterations), old, new)
