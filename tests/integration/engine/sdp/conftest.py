"""Fixtures of tests that load declarative pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.declarative import DeclarativeLab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> Iterator[DeclarativeLab]:
    """A project of its own."""
    lab = DeclarativeLab(spark, tmp_path)
    yield lab
    lab.close()
