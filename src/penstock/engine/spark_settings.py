"""The settings of our Spark sessions: each with its value, its reason, and who chose it.

Whoever opens a session takes its settings from here, and `penstock config show --spark` prints
the same list. What users set in `spark.conf` wins. A setting that a checkpoint freezes has the
value with which the checkpoint was born, whatever is set later: Spark reads it from there, or
goes wrong (`shuffle.partitions` until the first restart), so the engine applies it at each start.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.engine.driver import workers_python
from penstock.engine.masters import is_on_this_machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.settings import SparkSettings

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
TASK_ATTEMPTS = 4
_STREAMING = "spark.sql.streaming."
_ROCKSDB = f"{_STREAMING}stateStore.rocksdb."
_UNKNOWN_SLOTS = 8
"""Shuffle partitions when neither the master nor the topics say how many are of use."""


FROZEN = frozenset(
    {
        SHUFFLE_PARTITIONS,
        f"{_STREAMING}aggregation.stateFormatVersion",
        f"{_STREAMING}flatMapGroupsWithState.stateFormatVersion",
        f"{_STREAMING}join.stateFormatVersion",
        f"{_STREAMING}multipleWatermarkPolicy",
        f"{_STREAMING}offsetLog.formatVersion",
        f"{_STREAMING}queryEvolution.enableSourceEvolution",
        f"{_STREAMING}stateStore.checkpointFormatVersion",
        f"{_STREAMING}stateStore.compression.codec",
        f"{_STREAMING}stateStore.encodingFormat",
        f"{_STREAMING}stateStore.providerClass",
        f"{_STREAMING}stateStore.rowChecksum.enabled",
        f"{_STREAMING}statefulOperator.useStrictDistribution",
        f"{_ROCKSDB}formatVersion",
        f"{_ROCKSDB}mergeOperatorVersion",
    }
)
"""Settings that have for ever the value with which a checkpoint was born."""


class ChosenBy(StrEnum):
    """Who chose the value of a setting."""

    PENSTOCK = "penstock"
    USER = "your setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSetting:
    """A setting of a Spark session.

    `replaced` is the value that Penstock would have set, where the user chose another.
    """

    key: str
    value: str
    reason: str
    chosen_by: ChosenBy = ChosenBy.PENSTOCK
    replaced: str | None = None

    @property
    def frozen(self) -> bool:
        """Whether a checkpoint keeps the value that it was born with."""
        return self.key in FROZEN


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionShape:
    """What the values are derived from."""

    master: str
    driver_memory_mb: int
    warehouse: str
    conf: Mapping[str, str]
    """What the user set."""


def session_shape(settings: SparkSettings) -> SessionShape:
    """Return what a session of these settings is derived from."""
    return SessionShape(
        master=settings.master or default_master(),
        driver_memory_mb=settings.driver_memory_mb,
        warehouse=settings.warehouse,
        conf=settings.conf,
    )


def session_settings(shape: SessionShape) -> tuple[SessionSetting, ...]:
    """Return every setting of a session of `shape`, sorted by key; the user's values win."""
    ours = {item.key: item for item in _chosen(shape)}
    user = {
        key: replace(ours[key], value=value, chosen_by=ChosenBy.USER, replaced=ours[key].value)
        if key in ours
        else SessionSetting(key=key, value=value, reason="", chosen_by=ChosenBy.USER)
        for key, value in shape.conf.items()
    }
    return tuple(sorted((ours | user).values(), key=lambda item: item.key))


def session_conf(settings: Iterable[SessionSetting]) -> dict[str, str]:
    """Return `settings` as Spark takes them."""
    return {item.key: item.value for item in settings}


def default_master() -> str:
    """Return a local master with all cores that this process may use.

    Spark gives a task of a plain `local[N]` one attempt; on a cluster it has four.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"local[{cores or 1},{TASK_ATTEMPTS}]"


def task_slots(master: str) -> int | None:
    """Return how many tasks a local master runs at once; None for clusters."""
    if master == "local":
        return 1
    threads = re.fullmatch(r"local\[(\*|\d+)(?:,\s*\d+)?\]", master)
    if threads is None:
        return None
    return (os.cpu_count() or 1) if threads[1] == "*" else int(threads[1])


def shuffle_partitions(slots: int | None, topic_partitions: int | None) -> int:
    """Return how many partitions shuffles and state have.

    More than there are task slots only adds commits to each batch: 200 on two cores made a batch
    25 to 60 times slower. More than the topics have is of little use, but one would forbid growth.
    """
    bounds = [count for count in (slots, topic_partitions and max(2, topic_partitions)) if count]
    return min(bounds, default=_UNKNOWN_SLOTS)


def _chosen(shape: SessionShape) -> Iterator[SessionSetting]:
    yield from _session(shape)
    yield from _state(shape)
    yield from _streaming()
    yield from _tables(shape)
    if is_on_this_machine(shape.master):
        yield from _loopback()
    if shape.master.startswith("local") and workers_python(shape.conf) == sys.executable:
        yield from _workers()
    if shape.master.startswith(("yarn", "k8s://")):
        yield from _containers()


def _session(shape: SessionShape) -> Iterator[SessionSetting]:
    yield SessionSetting(
        key="spark.driver.memory",
        value=f"{shape.driver_memory_mb}m",
        reason="the heap of the driver, from `spark.driver_memory_mb`",
    )
    yield SessionSetting(
        key="spark.sql.session.timeZone",
        value="UTC",
        reason="the same record gives the same times on every machine",
    )
    yield SessionSetting(
        key="spark.sql.ansi.enabled",
        value="true",
        reason="a bad cast or an overflow is an error, not a silent null",
    )
    yield SessionSetting(
        key="spark.sql.timeType.enabled",
        value="true",
        reason="times of day, as Avro has them, are a type of Spark's that is off by default",
    )
    yield SessionSetting(
        key="spark.ui.enabled",
        value="false",
        reason="starting it takes half a second; set it to true to look into Spark",
    )
    yield SessionSetting(
        key="spark.ui.showConsoleProgress",
        value="false",
        reason="Penstock shows the progress, and the bar would fill the log",
    )


def _state(shape: SessionShape) -> Iterator[SessionSetting]:
    yield SessionSetting(
        key=SHUFFLE_PARTITIONS,
        value=str(shuffle_partitions(task_slots(shape.master), None)),
        reason="as many as task slots, or as partitions that a flow reads if these are fewer;"
        " Spark's 200 make small batches slow",
    )
    yield SessionSetting(
        key=f"{_STREAMING}stateStore.providerClass",
        value="org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        reason="state outside the heap, bounded by disk; transformWithState needs it",
    )
    yield SessionSetting(
        key=f"{_ROCKSDB}changelogCheckpointing.enabled",
        value="true",
        reason="a batch uploads its changes instead of a snapshot of everything",
    )
    yield SessionSetting(
        key=f"{_ROCKSDB}boundedMemoryUsage",
        value="true",
        reason="all state stores of an executor share one memory budget",
    )
    yield SessionSetting(
        key=f"{_ROCKSDB}maxMemoryUsageMB",
        value="256",
        reason="that budget; it lies outside the Java heap",
    )
    yield SessionSetting(
        key=f"{_ROCKSDB}trackTotalNumberOfRows",
        value="false",
        reason="counting rows makes each write to state 2.7 times as expensive",
    )


def _streaming() -> Iterator[SessionSetting]:
    yield SessionSetting(
        key=f"{_STREAMING}queryEvolution.enableSourceEvolution",
        value="true",
        reason="sources have names, so a flow may gain or lose one and keep its state",
    )
    yield SessionSetting(
        key=f"{_STREAMING}offsetLog.formatVersion",
        value="2",
        reason="the log of offsets that knows sources by name",
    )
    yield SessionSetting(
        key=f"{_STREAMING}multipleWatermarkPolicy",
        value="min",
        reason="the slowest input decides; the other policy drops its records",
    )
    yield SessionSetting(
        key=f"{_STREAMING}minBatchesToRetain",
        value="100",
        reason="how many batches a flow can be rewound",
    )
    yield SessionSetting(
        key=f"{_STREAMING}stopTimeout",
        value="30s",
        reason="stopping a query that hangs fails instead of waiting for ever",
    )
    yield SessionSetting(
        key=f"{_STREAMING}stopActiveRunOnRestart",
        value="false",
        reason="a second query on a checkpoint is an error; Spark would stop the first silently",
    )
    yield SessionSetting(
        key=f"{_STREAMING}metricsEnabled",
        value="true",
        reason="Spark's own metrics cover queries too",
    )
    yield SessionSetting(
        key=f"{_STREAMING}numRecentProgressUpdates",
        value="20",
        reason="Penstock keeps its own history of progress",
    )
    yield SessionSetting(
        key="spark.kafka.consumer.cache.capacity",
        value="256",
        reason="a consumer for each partition stays open from batch to batch",
    )
    yield SessionSetting(
        key="spark.kafka.consumer.fetchedData.cache.timeout",
        value="20s",
        reason="records that were fetched and not used take memory; five minutes of them too much",
    )
    yield SessionSetting(
        key="spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval",
        value="10s",
        reason="how often Spark looks for such records",
    )


def _tables(shape: SessionShape) -> Iterator[SessionSetting]:
    yield SessionSetting(
        key="spark.sql.warehouse.dir",
        value=shape.warehouse,
        reason="where tables are kept, from `spark.warehouse`",
    )
    yield SessionSetting(
        key="spark.sql.extensions",
        value="io.delta.sql.DeltaSparkSessionExtension",
        reason="tables are Delta tables: transactions, MERGE, several writers",
    )
    yield SessionSetting(
        key="spark.sql.catalog.spark_catalog",
        value="org.apache.spark.sql.delta.catalog.DeltaCatalog",
        reason="the other half of Delta",
    )
    yield SessionSetting(
        key="spark.databricks.delta.snapshotPartitions",
        value="2",
        reason="Delta's 50 tasks to read a small table's log take longer than the reading",
    )


def _containers() -> Iterator[SessionSetting]:
    yield SessionSetting(
        key="spark.executor.memoryOverhead",
        value="768m",
        reason="what a container holds beside the heap: the 256 MB of state, and Python's workers",
    )


def _workers() -> Iterator[SessionSetting]:
    yield SessionSetting(
        key="spark.python.daemon.module",
        value="penstock.engine.worker_daemon",
        reason="Python workers have imported what they need when they are started",
    )


def _loopback() -> Iterator[SessionSetting]:
    for key in ("spark.driver.host", "spark.driver.bindAddress"):
        yield SessionSetting(
            key=key,
            value="127.0.0.1",
            reason="a local Spark is nobody else's business, and needs no name lookup",
        )
