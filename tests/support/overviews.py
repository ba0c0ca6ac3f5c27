"""Pipelines as commands see them, without a cluster or a driver."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from penstock.control.detached import KeptPipeline
from penstock.control.fleet import PipelineView
from penstock.control.holders import Holder
from penstock.control.kept import DriverExit, KeeperRecord, KeeperState, KeptFolder
from penstock.control.status import Rates, Totals
from penstock.control.status_records import (
    Addresses,
    BatchRecord,
    ErrorRecord,
    FlowRecord,
    LagRecord,
    PipelineRecord,
    PipelineState,
)
from penstock.control.supervision import FlowState
from penstock.names import DatasetName, FlowName, PipelineName
from penstock.pipeline import Guarantee

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHOP = PipelineName("shop")
DRIVER = Holder(
    driver_id="d1",
    host="node-1",
    pid=4711,
    process_set="elsewhere",
    boot_seconds=1.0,
    started_at=NOON,
    code_version="0123456789ab",
)
CLEAN = FlowRecord(
    flow=FlowName("clean"),
    state=FlowState.RUNNING,
    since=NOON,
    rates=Rates(records_in=1234.0, records_out=12.0),
    totals=Totals(
        records_in=5000, records_out=50, dead_letters=2, batches=8, restarts=1, duplicates=3
    ),
    lag=LagRecord(records=70, seconds=0.25, held_records=60, held_since=NOON),
    last_batch=BatchRecord(batch_id=7, at=NOON, seconds=0.5, records_in=10, records_out=1),
    watermark=NOON,
    last_error=ErrorRecord(code="PEN-347", message="it raised", at=NOON),
    writes={DatasetName("cleaned"): Guarantee.EXACTLY_ONCE},
)
COUNT = FlowRecord(
    flow=FlowName("count"),
    state=FlowState.PAUSED,
    since=NOON,
    rates=Rates(records_in=0.0, records_out=None),
    totals=Totals(records_out=None),
)
RECORD = PipelineRecord(
    pipeline=SHOP,
    state=PipelineState.RUNNING,
    since=NOON,
    why=None,
    driver=DRIVER,
    epoch=3,
    profile="local",
    addresses=Addresses(
        spark_application_id="local-1",
        spark_ui="http://127.0.0.1:4040",
        health="http://127.0.0.1:8080",
    ),
    flows=(CLEAN, COUNT),
)


def seen(state: PipelineState, *, at: datetime = NOON, why: str | None = None) -> PipelineView:
    """Return what the cluster knows of a pipeline in `state` since `at`."""
    return PipelineView(
        pipeline=SHOP,
        state=state,
        since=at,
        why=why,
        driver=DRIVER,
        seen_at=at,
        record=replace(RECORD, state=state, since=at, why=why),
    )


def kept(
    state: KeeperState,
    *,
    is_kept: bool = True,
    driver_pid: int | None = DRIVER.pid,
    at: datetime = NOON,
    why: str | None = None,
    last_pid: int | None = None,
) -> KeptPipeline:
    """Return what this machine knows of a pipeline that its keeper says to be in `state`."""
    record = KeeperRecord(
        keeper_pid=12,
        state=state,
        since=at,
        why=why,
        driver_pid=driver_pid,
        restarts=1,
        next_start_at=NOON if state is KeeperState.WAITING else None,
        last_exit=DriverExit(at=NOON, status=-9, pid=last_pid),
    )
    return KeptPipeline(
        folder=KeptFolder(Path("/data/pipelines/shop")), record=record, is_kept=is_kept
    )
