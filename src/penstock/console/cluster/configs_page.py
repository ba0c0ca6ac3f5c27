"""What brokers are set to: one of them, or what holds for all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.console.cluster.broker_page import figures_of
from penstock.console.configs import ConfigLine, config_list
from penstock.console.frame import LISTING, Listing, Page
from penstock.kafka import Admin, AllBrokers, OneBroker, current_configs

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.kafka import BrokerTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfigs:
    """One page of the configs of a broker, or of those that hold for all brokers."""

    broker: int | None
    """Null: all brokers."""

    configs: Listing[ConfigLine]


def target_of(ask: Ask) -> BrokerTarget:
    """Return whose configs the address means.

    Raises:
        UnknownBrokerError: there is no such broker.
    """
    return OneBroker(figures_of(ask).broker_id) if "broker" in ask.path else AllBrokers()


def load(ask: Ask) -> BrokerConfigs:
    """Return the configs as they are now.

    Raises:
        UnknownBrokerError: the broker is not in the cluster.
        ClusterDefaultsNotVisibleError: all brokers are meant, and cannot be asked.
    """
    target = target_of(ask)
    with Admin(ask.world.connection) as admin:
        entries = current_configs(admin, target)
    return BrokerConfigs(
        broker=target.broker_id if isinstance(target, OneBroker) else None,
        configs=config_list(entries, ask),
    )


BROKER_CONFIGS = Page(
    path="/cluster/brokers/{broker}/configs",
    name="list_broker_configs",
    summary="All configs of a broker with the value in force and its source.",
    template="cluster/configs.html",
    model=BrokerConfigs,
    load=load,
    title=lambda model: f"Configs of broker {model.broker}",
    command=lambda _ask, model: f"penstock cluster config get --broker {model.broker} --all",
    parameters=LISTING,
    menu="Cluster",
)

SHARED_CONFIGS = Page(
    path="/cluster/configs",
    name="list_cluster_configs",
    summary="The dynamic configs that hold for all brokers; a broker's own are stronger.",
    template="cluster/configs.html",
    model=BrokerConfigs,
    load=load,
    title=lambda _: "Configs of all brokers",
    command=lambda _ask, _model: "penstock cluster config get --default",
    parameters=LISTING,
    menu="Cluster",
)
