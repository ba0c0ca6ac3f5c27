"""A compacted topic as a key-value table. A public package: its names are imported from here."""

from penstock.kafka.tables.entries import Entry, OnChange
from penstock.kafka.tables.errors import (
    TableClosedError,
    TableLostError,
    TableTimeoutError,
    TableTopicError,
    VersionConflictError,
)
from penstock.kafka.tables.table import KafkaTable

__all__ = [
    "Entry",
    "KafkaTable",
    "OnChange",
    "TableClosedError",
    "TableLostError",
    "TableTimeoutError",
    "TableTopicError",
    "VersionConflictError",
]
