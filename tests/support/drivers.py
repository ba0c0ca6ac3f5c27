"""Drivers and their records with everything filled in that a test is not about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.control.holders import Holder
from penstock.control.status_records import Addresses, PipelineRecord, PipelineState
from penstock.names import PipelineName
from support.pipeline_events import NOON

SHOP = PipelineName("shop")


def driver(**fields: Any) -> Holder:  # noqa: ANN401 - any field of a holder
    """Return a driver on another machine."""
    plain = Holder(
        driver_id="d1",
        host="far",
        pid=77,
        process_set="elsewhere",
        boot_seconds=100.0,
        started_at=NOON,
        code_version="0123456789ab",
    )
    return replace(plain, **fields)


def status(state: PipelineState, **fields: Any) -> PipelineRecord:  # noqa: ANN401 - any field
    """Return what a driver said."""
    plain = PipelineRecord(
        pipeline=SHOP,
        state=state,
        since=NOON,
        why=None,
        driver=driver(),
        epoch=1,
        profile="local",
        addresses=Addresses(),
    )
    return replace(plain, **fields)
