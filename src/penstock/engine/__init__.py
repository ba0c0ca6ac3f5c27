"""Spark: the session of a driver process and what runs in it."""

from penstock.engine.driver import Tuning
from penstock.engine.enriching import enrich
from penstock.engine.errors import DriverDiedError, DriverNotStartedError, SessionOpenError
from penstock.engine.session import (
    SessionOptions,
    SparkApplication,
    SparkDriver,
    open_session,
    session_options,
)
from penstock.engine.spark_settings import (
    ChosenBy,
    SessionSetting,
    SessionShape,
    session_conf,
    session_settings,
    session_shape,
)

__all__ = [
    "ChosenBy",
    "DriverDiedError",
    "DriverNotStartedError",
    "SessionOpenError",
    "SessionOptions",
    "SessionSetting",
    "SessionShape",
    "SparkApplication",
    "SparkDriver",
    "Tuning",
    "enrich",
    "open_session",
    "session_conf",
    "session_options",
    "session_settings",
    "session_shape",
]
