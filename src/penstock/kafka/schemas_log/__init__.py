"""The topic of a schema registry: read by every instance, written by the one that leads."""

from penstock.kafka.schemas_log.candidacy import Candidacy, leader_of
from penstock.kafka.schemas_log.errors import FencedError, SchemasTopicError
from penstock.kafka.schemas_log.log import SchemasLog
from penstock.kafka.schemas_log.records import Fold, LogRecord

__all__ = [
    "Candidacy",
    "FencedError",
    "Fold",
    "LogRecord",
    "SchemasLog",
    "SchemasTopicError",
    "leader_of",
]
