"""Build, run and operate streaming pipelines on Kafka and Spark."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kafka import Consumer, DatabaseOffsets, Producer, Record, worker

__all__ = ["Consumer", "DatabaseOffsets", "Producer", "Record", "worker"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that the command line starts quickly."""
    if name not in __all__:
        raise AttributeError(name)
    import penstock.kafka

    return getattr(penstock.kafka, name)
