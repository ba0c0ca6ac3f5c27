"""Health over HTTP: what it says of a driver, on the port that was asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from penstock.control.figures import samples_of
from penstock.control.health import Health, HealthPortTakenError, HealthServer
from penstock.control.supervision import FlowState
from penstock.names import FlowName, PipelineName
from support.overviews import RECORD

CLEAN, COUNT = FlowName("clean"), FlowName("count")
WELL = Health(
    pipeline=PipelineName("shop"),
    flows={CLEAN: FlowState.RUNNING, COUNT: FlowState.IDLE},
    has_begun=True,
    silent_seconds=0.1,
    spark_is_alive=True,
    lease_is_held=True,
)


@pytest.mark.parametrize(
    ("health", "alive", "ready"),
    [
        (WELL, True, True),
        (replace(WELL, has_begun=False, silent_seconds=90), True, False),
        (replace(WELL, spark_is_alive=False), False, False),
        (replace(WELL, silent_seconds=60), False, False),
        (replace(WELL, lease_is_held=False), True, False),
        (replace(WELL, flows={CLEAN: FlowState.FINISHED}), True, True),
        *(
            (replace(WELL, flows={CLEAN: state, COUNT: FlowState.RUNNING}), True, False)
            for state in (
                FlowState.STARTING,
                FlowState.RESTARTING,
                FlowState.NO_KAFKA,
                FlowState.PAUSED,
                FlowState.STOPPED,
                FlowState.FAILED,
            )
        ),
    ],
)
def test_a_driver_is_alive_while_it_works_and_ready_while_all_of_it_runs(
    health: Health, *, alive: bool, ready: bool
) -> None:
    assert (health.trouble is None, health.obstacle is None) == (alive, ready)


def test_it_is_served_with_the_reason() -> None:
    current = [WELL]
    with HealthServer("127.0.0.1", 0, lambda: current[0], list) as server:
        well = [get(server, path) for path in ("/health", "/ready", "/other")]
        current[0] = replace(WELL, flows={CLEAN: FlowState.PAUSED})
        resting = [get(server, path) for path in ("/health", "/ready")]

    assert [status for status, _ in well] == [200, 200, 404]
    assert json.loads(well[1][1]) == {
        "pipeline": "shop",
        "ok": True,
        "why": None,
        "flows": {"clean": "running", "count": "idle"},
    }
    assert [status for status, _ in resting] == [200, 503]
    assert json.loads(resting[1][1])["why"] == "`clean` is paused"


def test_what_the_pipeline_measures_is_read_as_prometheus_reads_it() -> None:
    with HealthServer("127.0.0.1", 0, lambda: WELL, lambda: samples_of(RECORD)) as server:
        status, text = get(server, "/metrics")

    assert status == 200
    lines = text.decode().splitlines()
    assert 'penstock_pipeline_up{pipeline="shop"} 1.0' in lines
    assert 'penstock_flow_input_records_total{flow="clean",pipeline="shop"} 5000.0' in lines


def test_a_port_that_another_has_is_refused_before_anything_begins() -> None:
    with HealthServer("127.0.0.1", 0, lambda: WELL, list) as server:
        taken = urlsplit(server.address).port
        assert taken is not None
        with pytest.raises(HealthPortTakenError) as refused:
            HealthServer("127.0.0.1", taken, lambda: WELL, list)

    assert f"127.0.0.1:{taken}" in refused.value.message


def test_the_port_is_free_again_afterwards() -> None:
    with HealthServer("127.0.0.1", 0, lambda: WELL, list) as server:
        address = urlsplit(server.address)
    with HealthServer("127.0.0.1", address.port or 0, lambda: WELL, list) as second:
        assert get(second, "/health")[0] == 200


def get(server: HealthServer, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(urlsplit(server.address).netloc, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()
