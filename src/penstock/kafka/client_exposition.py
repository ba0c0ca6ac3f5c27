"""What the clients of a process did lately, as Prometheus reads it.

For processes that have nothing else to tell, such as workers. The names are those of the catalog of
metrics, which lies above this package; a test compares them.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from penstock.kafka.client_figures import ConsumerRates, ProducerRates, rates_of_open_clients

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""The media type of what `client_exposition` returns."""


def client_exposition() -> str:
    """Return the text that a scrape of this process answers with."""
    return generate_latest(_Clients(rates_of_open_clients())).decode()


class _Clients:
    """What the library asks for metrics."""

    def __init__(self, rates: Mapping[str, ProducerRates | ConsumerRates]) -> None:
        self._rates = rates

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for kind, noun in ((ProducerRates, "producer"), (ConsumerRates, "consumer")):
            told = {name: asdict(each) for name, each in self._rates.items() if type(each) is kind}
            for item in fields(kind):
                family = GaugeMetricFamily(
                    f"penstock_{noun}_{item.name}",
                    f"`{item.name}` of each {noun} in the last seconds.",
                    labels=("client",),
                )
                for name, values in told.items():
                    family.add_metric((name,), values[item.name])
                if told:
                    yield family
