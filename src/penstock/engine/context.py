"""What the flows of one running pipeline share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.delivery.history import HistoryWriter
    from penstock.engine.contracts.binding import Contracts
    from penstock.engine.events import Notify
    from penstock.engine.exactly_once.sink import Ledger
    from penstock.engine.lookups import Lookups
    from penstock.engine.quarantine import QuarantineWorker
    from penstock.engine.storage import Storage
    from penstock.engine.tables import TableLocations
    from penstock.kafka import Admin
    from penstock.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineContext:
    """What the flows of a running pipeline share."""

    pipeline: Pipeline
    spark: SparkSession
    storage: Storage
    """Its root is `<checkpoint_root>/<pipeline>`."""

    admin: Admin
    kafka: Mapping[str, str]
    """Spark's options for the same cluster: `kafka_options`."""

    tables: TableLocations
    lookups: Lookups
    contracts: Contracts
    ledger: Ledger
    history: HistoryWriter
    quarantine: QuarantineWorker
    conf: Mapping[str, str]
    """What the user set in `spark.conf`."""

    notify: Notify
