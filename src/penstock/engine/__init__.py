"""Spark: the session of a driver process and what runs in it."""

from penstock.engine.driver import Tuning
from penstock.engine.errors import DriverDiedError, DriverNotStartedError, SessionOpenError
from penstock.engine.session import SessionOptions, SparkDriver, open_session

__all__ = [
    "DriverDiedError",
    "DriverNotStartedError",
    "SessionOpenError",
    "SessionOptions",
    "SparkDriver",
    "Tuning",
    "open_session",
]
