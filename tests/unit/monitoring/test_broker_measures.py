"""What exporters show, and what it means."""

from dataclasses import replace

from penstock.monitoring.broker_measures import measures
from penstock.monitoring.exporters import Shown
from support.measured import MEASURED

SHOWN = """\
# HELP kafka_server_replicamanager_leadercount Attribute exposed for management
kafka_controller_kafkacontroller_activecontrollercount 1.0
kafka_server_replicamanager_underreplicatedpartitions 3.0
kafka_server_brokertopicmetrics_bytesin_total 1.5E6
kafka_network_requestmetrics_requests_total{request="Fetch",version="17"} 70.0
kafka_network_requestmetrics_requests_total{request="Fetch",version="16"} 10.0
kafka_network_requestmetrics_requests_total{request="FetchFollower",version="17"} 80.0
kafka_network_requestmetrics_requests_total{request="Produce",version="12"} 5.0
kafka_network_requestmetrics_totaltimems_count_total{request="Produce"} 5.0
kafka_network_requestmetrics_totaltimems{quantile="0.50",request="Produce"} 12.0
kafka_network_requestmetrics_totaltimems{quantile="0.98",request="Produce"} 70.0
kafka_network_requestmetrics_totaltimems{quantile="0.99",request="Produce"} 80.0
kafka_server_socketservermetrics_connection_count{listener="CONTROLLER",network_processor="0"} 1.0
kafka_server_socketservermetrics_connection_count{listener="PLAINTEXT",network_processor="0"} 4.0
jvm_memory_used_bytes{area="heap"} 5.0E7
jvm_memory_used_bytes{area="nonheap"} 9.0E7
"""


def test_names_of_the_exporters_example_are_understood() -> None:
    found = measures(Shown(SHOWN))

    assert found.active_controller is True
    assert (found.under_replicated, found.bytes_in, found.connections) == (3, 1.5e6, 5)
    assert found.requests == {"Fetch": 80, "Produce": 5}
    assert found.request_count == 85
    assert found.heap_bytes == 5e7
    produce = found.request_times[0]
    assert (produce.request, produce.count) == ("Produce", 5)
    assert produce.seconds["total"] == {"0.5": 0.012, "0.99": 0.08}


def test_traffic_of_topics_beside_that_of_the_broker_counts_once() -> None:
    """The exporter's example gives both the same name."""
    topics = "".join(
        f'kafka_server_brokertopicmetrics_{what}_total{{topic="{topic}"}} {count}\n'
        for what in ("bytesin", "bytesout", "messagesin")
        for topic, count in (("orders", 700), ("billing", 300))
    )
    whole = "kafka_server_brokertopicmetrics_bytesin_total 1000\n"

    found = measures(Shown(topics + whole))

    assert (found.bytes_in, found.bytes_out, found.records_in) == (1000, 1000, 1000)


def test_what_is_no_number_is_not_known() -> None:
    found = measures(
        Shown(
            "kafka_server_replicamanager_underreplicatedpartitions NaN\n"
            "kafka_server_brokertopicmetrics_bytesin_total +Inf\n"
            "kafka_server_replicamanager_offlinereplicacount 2\n"
        )
    )

    assert (found.under_replicated, found.bytes_in, found.offline_replicas) == (None, None, 2)


def test_what_is_not_shown_is_not_known() -> None:
    found = measures(Shown("kafka_server_replicamanager_leadercount 4"))

    assert found.under_replicated is None
    assert found.active_controller is None
    assert found.request_count is None


def test_older_exporters_write_other_ends_and_another_name_of_the_heap() -> None:
    old = SHOWN.replace("_total{", "{").replace("_total ", " ")
    old = old.replace("jvm_memory_used_bytes", "jvm_memory_bytes_used")

    assert measures(Shown(old)) == measures(Shown(SHOWN))


def test_a_page_that_is_no_exporters_shows_nothing() -> None:
    assert not Shown("<html>kafka_is_not_here</html>")
    assert not Shown("up 1\njvm_memory_used_bytes 3")


def test_rates_are_of_the_time_between_two_looks() -> None:
    before = replace(MEASURED, bytes_in=1000, requests={"Produce": 10.0})
    now = replace(MEASURED, bytes_in=3000, requests={"Produce": 20.0}).since(before, seconds=5)

    assert (now.bytes_in_per_second, now.requests_per_second) == (400, 2)


def test_a_broker_that_started_anew_has_no_rate_yet() -> None:
    before = replace(MEASURED, bytes_in=1000)

    assert replace(MEASURED, bytes_in=10).since(before, seconds=5).bytes_in_per_second is None
