"""Build, run and operate streaming pipelines on Kafka and Spark.

A project says `import penstock as ps` and declares `ps.topic`, `ps.table`, `@ps.flow` and so on;
clients of Kafka are `ps.Producer`, `ps.Consumer` and `ps.worker`.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.engine import enrich
    from penstock.kafka import Consumer, DatabaseOffsets, Producer, Record, worker
    from penstock.pipeline import (
        avro,
        csv,
        csv_file,
        deduplicate,
        files,
        flow,
        json,
        json_file,
        json_schema,
        lookup,
        orc,
        orc_file,
        parquet,
        parquet_file,
        protobuf,
        rate,
        socket,
        table,
        text,
        topic,
        view,
    )
    from penstock.pipeline import (
        bytes_ as bytes,
    )

__all__ = [
    "Consumer",
    "DatabaseOffsets",
    "Producer",
    "Record",
    "avro",
    "bytes",
    "csv",
    "csv_file",
    "deduplicate",
    "enrich",
    "files",
    "flow",
    "json",
    "json_file",
    "json_schema",
    "lookup",
    "orc",
    "orc_file",
    "parquet",
    "parquet_file",
    "protobuf",
    "rate",
    "socket",
    "table",
    "text",
    "topic",
    "view",
    "worker",
]

_CLIENTS = {"Consumer", "DatabaseOffsets", "Producer", "Record", "worker"}
_OTHER_NAMES = {"bytes": "bytes_"}  # inside the package, Python's own `bytes` is needed


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that the command line starts quickly."""
    if name not in __all__:
        raise AttributeError(name)
    if name in _CLIENTS:
        package = "penstock.kafka"
    else:
        package = "penstock.engine" if name == "enrich" else "penstock.pipeline"
    return getattr(importlib.import_module(package), _OTHER_NAMES.get(name, name))
