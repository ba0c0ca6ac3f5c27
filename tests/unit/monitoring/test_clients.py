"""Each figure of a client is in the catalog, and the other way round."""

from dataclasses import fields

from penstock.kafka import ConsumerRates, ProducerRates
from penstock.monitoring.catalog.clients import CONSUMERS, PRODUCERS
from penstock.monitoring.clients import consumer_samples, producer_samples


def test_every_figure_of_a_client_has_a_sample() -> None:
    producer = ProducerRates(**{item.name: 2 for item in fields(ProducerRates)})
    consumer = ConsumerRates(**{item.name: 3 for item in fields(ConsumerRates)})

    sent, read = producer_samples("orders", producer), consumer_samples("billing", consumer)

    assert {item.metric for item in sent} == {item.name for item in PRODUCERS}
    assert {item.metric for item in read} == {item.name for item in CONSUMERS}
    assert {(item.labels, item.value) for item in sent} == {((("client", "orders"),), 2.0)}
