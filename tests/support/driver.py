"""One Spark for all tests of a process, started with the settings that pipelines have."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine import SessionOptions, SparkDriver, Tuning, open_session
from penstock.engine.spark_settings import SessionShape, session_conf, session_settings

MASTER = "local[2,4]"
HEAP_MB = 768


def session_options(folder: Path, **conf: str) -> SessionOptions:
    """Return a driver of two cores that keeps its files in `folder`; `conf` has `_` for `.`."""
    shape = SessionShape(
        master=MASTER,
        driver_memory_mb=HEAP_MB,
        warehouse=str(folder / "tables"),
        conf={key.replace("_", "."): value for key, value in conf.items()},
    )
    return SessionOptions(
        app_name="tests",
        master=MASTER,
        driver_memory_mb=HEAP_MB,
        conf=session_conf(session_settings(shape)),
        log_file=folder / "spark.log",
        tuning=Tuning.QUICK_START,
    )


@pytest.fixture(scope="session")
def spark_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    """The JVM of this test process."""
    with open_session(session_options(tmp_path_factory.mktemp("spark"))) as driver:
        yield driver
