"""Spark's real-time mode: records go through one by one, and broken ones are kept."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from penstock.engine.analysis_errors import TooFewTaskSlotsError
from penstock.engine.events import BatchFinished
from penstock.pipeline import OutputMode, RealTime, Text
from support.producing import Sent, send
from support.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from support.flow_runs import FlowLab


QUICK = RealTime(timedelta(seconds=5))


def keep_long(lines: DataFrame) -> DataFrame:
    return lines.where("length(value) > 1").select("value")


def test_records_come_through_and_broken_ones_become_dead_letters(lab: FlowLab) -> None:
    lines, long = lab.topic("lines", partition_count=1), lab.topic("long", value=Text())
    letters = lab.dead_letters()
    query = lab.query(keep_long, lines, into=long, trigger=QUICK, mode=OutputMode.UPDATE)
    query.start()

    send(
        lab.kafka.connection,
        lines.kafka_name,
        [Sent(value="a"), Sent(value=b"\xff\xfe"), Sent(value="long enough")],
    )

    eventually(
        lambda: [record.value for record in lab.records(long.kafka_name)] == [b"long enough"],
        within_seconds=60,
    )
    eventually(
        lambda: [record.value for record in lab.records(letters)] == [b"\xff\xfe"],
        within_seconds=60,
    )
    # A batch that ends between the records tells of some only.
    eventually(
        lambda: sum(batch.input_rows for batch in lab.told(BatchFinished)) == 3, within_seconds=60
    )
    query.stop_now()
    assert query.failure is None
    assert sum(batch.input_rows for batch in lab.told(BatchFinished)) == 3


def test_fewer_task_slots_than_partitions_are_refused(lab: FlowLab) -> None:
    """Spark would read some partitions only, and report one batch after the other."""
    lines, long = lab.topic("lines", partition_count=3), lab.topic("long", value=Text())
    query = lab.query(keep_long, lines, into=long, trigger=QUICK, mode=OutputMode.UPDATE)

    with pytest.raises(TooFewTaskSlotsError) as caught:
        query.start()

    assert "3" in caught.value.message
    assert "2" in caught.value.message
