"""One Spark for all tests of a process, started with the settings that pipelines have."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.engine import SessionOptions, SparkDriver, Tuning, open_session, session_options
from penstock.settings import load_settings


def driver_options(folder: Path, conf: Mapping[str, str] | None = None) -> SessionOptions:
    """Return a small driver of two cores, with `conf`, that keeps its files in `folder`."""
    overrides = {
        "spark.master": "local[2,4]",
        "spark.driver_memory_mb": 768,
        "spark.warehouse": str(folder / "tables"),
    }
    settings = load_settings(overrides, start=folder)
    settings = replace(settings, spark=replace(settings.spark, conf=conf or {}))
    return session_options(
        settings, app_name="tests", log_file=folder / "spark.log", tuning=Tuning.QUICK_START
    )


@pytest.fixture(scope="session")
def spark_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    """The JVM of this test process."""
    with open_session(driver_options(tmp_path_factory.mktemp("spark"))) as driver:
        yield driver
