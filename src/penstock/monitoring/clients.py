"""What our own producers and consumers did in the last seconds, as samples of the catalog."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from penstock.kafka import ProducerRates, rates_of_open_clients
from penstock.monitoring.catalog import sample
from penstock.monitoring.catalog.clients import CONSUMERS, PRODUCERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import ConsumerRates
    from penstock.monitoring.catalog import Metric, Sample


def client_samples() -> list[Sample]:
    """Return the figures of all clients that this process has open."""
    return [
        item
        for client, rates in rates_of_open_clients().items()
        for item in (
            producer_samples(client, rates)
            if isinstance(rates, ProducerRates)
            else consumer_samples(client, rates)
        )
    ]


def producer_samples(client: str, rates: ProducerRates) -> list[Sample]:
    """Return the figures of a producer, which `client` names."""
    return _samples(PRODUCERS, "penstock_producer_", client, asdict(rates))


def consumer_samples(client: str, rates: ConsumerRates) -> list[Sample]:
    """Return the figures of a consumer, which `client` names."""
    return _samples(CONSUMERS, "penstock_consumer_", client, asdict(rates))


def _samples(
    metrics: Sequence[Metric], prefix: str, client: str, values: dict[str, float]
) -> list[Sample]:
    by_field = {metric.name.removeprefix(prefix): metric for metric in metrics}
    return [sample(by_field[name], value, client=client) for name, value in values.items()]
