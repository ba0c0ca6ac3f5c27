"""Spark Declarative Pipelines: projects of `pyspark.pipelines` become pipelines like any other."""

from penstock.engine.sdp.errors import (
    QueryKindError,
    SchemasDifferError,
    SqlStatementError,
    UnsupportedFeatureError,
)
from penstock.engine.sdp.loading import load_declarative_pipeline

__all__ = [
    "QueryKindError",
    "SchemasDifferError",
    "SqlStatementError",
    "UnsupportedFeatureError",
    "load_declarative_pipeline",
]
