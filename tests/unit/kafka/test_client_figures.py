"""The statistics of a client as rates."""

import json
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from penstock.kafka.client_exposition import client_exposition
from penstock.kafka.client_figures import (
    ConsumerRates,
    ProducerRates,
    Statistics,
    rates_of_open_clients,
)
from penstock.monitoring.catalog import METRICS, MetricName

QUIET = {
    **dict.fromkeys(("tx", "tx_bytes", "txmsgs", "txmsg_bytes"), 0),
    **dict.fromkeys(("rx", "rx_bytes", "rxmsgs", "rxmsg_bytes"), 0),
    **dict.fromkeys(("msg_size", "msg_size_max"), 0),
    "brokers": {},
    "topics": {},
}


def test_records_that_are_given_up_show_as_errors() -> None:
    failed = 0
    statistics = Statistics(failed=lambda: failed)
    told = {**QUIET, "tx": 1, "tx_bytes": 9, "txmsgs": 1, "txmsg_bytes": 5}
    statistics.note(json.dumps({"ts": 0, **told}))
    failed = 10
    statistics.note(json.dumps({"ts": 5_000_000, **told}))
    rates = statistics.producer_rates()

    assert rates is not None
    assert rates.record_error_rate == 2
    assert (rates.request_rate, rates.record_size_avg, rates.batch_size_avg) == (0, 0, 0)


def test_what_waits_and_how_well_it_is_compressed_is_told() -> None:
    sent, read = Statistics(), Statistics()
    window = {"sum": 800, "cnt": 2, "max": 500}
    topic = {"batchsize": window, "batchcnt": {"sum": 20, "cnt": 2}, "partitions": {}}
    numbers = {"rx": 50, "txmsgs": 100, "txmsg_bytes": 10_000}
    buffer = {"msg_size": 300, "msg_size_max": 1000}
    tell(sent, **numbers, **buffer, topics={"orders": {**topic}}, brokers={})
    rtt = ({"sum": 9, "cnt": 3, "max": longest} for longest in (2_000, 500_000))
    brokers = {str(n): {"rtt": window, "req": {}} for n, window in enumerate(rtt)}
    tell(read, brokers=brokers)
    rates, fetches = sent.producer_rates(), read.consumer_rates()

    assert rates is not None
    assert (rates.buffer_total_bytes, rates.buffer_available_bytes) == (1000, 700)
    # Two batches of 400 bytes with ten records of 100 each.
    assert (rates.response_rate, rates.compression_rate_avg) == (10, 0.4)
    assert fetches is not None
    assert fetches.fetch_latency_max == 0.5


def test_all_open_clients_of_a_process_are_told_by_their_names() -> None:
    sender, reader, new = Statistics(), Statistics(), Statistics()
    tell(sender, name="shop#producer-901", type="producer", txmsgs=40)
    tell(reader, name="shop#consumer-902", type="consumer", rxmsgs=20)
    new.note(json.dumps({"ts": 0, "name": "shop#producer-903", "type": "producer", **QUIET}))
    open_ones = of_shop(rates_of_open_clients())
    sender.end()
    del reader
    after = of_shop(rates_of_open_clients())

    sent, read = open_ones["shop#producer-901"], open_ones["shop#consumer-902"]
    assert isinstance(sent, ProducerRates)
    assert isinstance(read, ConsumerRates)
    assert (sent.record_send_rate, read.records_consumed_rate) == (8, 4)
    assert len(open_ones) == 2
    assert after == {}


def test_a_process_tells_of_its_clients_in_the_names_of_the_catalog() -> None:
    sender, reader = Statistics(), Statistics()
    tell(sender, name='shop"#producer-911', type="producer", txmsgs=40)
    tell(reader, name="shop#consumer-912", type="consumer", rxmsgs=20)
    families = list(text_string_to_metric_families(client_exposition()))
    told = {
        (item.name, item.labels["client"]): item.value
        for family in families
        for item in family.samples
    }

    assert {family.name for family in families} == {
        name for name in METRICS if name.startswith(("penstock_producer_", "penstock_consumer_"))
    }
    assert all(METRICS[MetricName(family.name)].labels == ("client",) for family in families)
    assert told["penstock_producer_record_send_rate", 'shop"#producer-911'] == 8
    assert told["penstock_consumer_records_consumed_rate", "shop#consumer-912"] == 4


def tell(statistics: Statistics, **told: object) -> None:
    """Let a client tell twice: five seconds of what `told` says."""
    statistics.note(json.dumps({"ts": 0, **QUIET}))
    statistics.note(json.dumps({"ts": 5_000_000, **QUIET, **told}))


def of_shop(rates: Mapping[str, object]) -> dict[str, object]:
    """Return the clients of these tests, whatever else the process has open."""
    return {name: each for name, each in rates.items() if name.startswith("shop")}
