"""Fixtures of tests that run flows."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from support.flow_runs import FlowLab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster


@pytest.fixture
def lab(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[FlowLab]:
    """A pipeline of its own."""
    lab = FlowLab(spark, kafka, tmp_path, f"lab{uuid4().hex[:8]}")
    yield lab
    lab.close()
