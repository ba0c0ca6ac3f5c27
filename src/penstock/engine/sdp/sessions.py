"""The `spark` that modules of a project find: always the session of the flow that is being built.

Every start of a flow has a session of its own, while a module keeps one object for ever. So it
gets one that hands everything on to the session that is active in the calling thread.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterator


class ActiveSession:
    """Stands for the session that is active in the calling thread."""

    def __init__(self, fallback: SparkSession) -> None:
        self._fallback = fallback

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a session has
        """Return what the active session has by that name."""
        return getattr(active_session(self._fallback), name)

    def __repr__(self) -> str:
        """Say what it stands for."""
        return "<the active Spark session>"


def active_session(fallback: SparkSession) -> SparkSession:
    """Return the session that is active in this thread, or `fallback` in threads without one."""
    context = fallback.sparkContext
    java_class: Any = context._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]  # noqa: SLF001 - PySpark keeps one session for all threads
    found = java_class.getActiveSession()
    return SparkSession(context, found.get()) if found.isDefined() else fallback


def activate(session: SparkSession) -> None:
    """Make `session` that of this thread."""
    java_session = session._jsparkSession  # noqa: SLF001 - PySpark has no other way
    java_session.setActiveSession(java_session)


@contextmanager
def found_as(spark: ActiveSession) -> Iterator[None]:
    """Let modules that ask Spark for the session get `spark` too, while the block runs."""
    saved = {name: SparkSession.__dict__[name] for name in ("active", "getActiveSession")}
    get_or_create = SparkSession.Builder.getOrCreate
    session_class: Any = SparkSession
    for name in saved:
        setattr(session_class, name, staticmethod(lambda: spark))
    session_class.Builder.getOrCreate = lambda _builder: spark
    try:
        yield
    finally:
        for name, method in saved.items():
            setattr(session_class, name, method)
        session_class.Builder.getOrCreate = get_or_create
