"""Rules that Spark has no expression for, checked in Arrow batches by the validator of schemas."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf

from penstock.schemas.json_schema import parse, problems

if TYPE_CHECKING:
    from pyspark.sql import Column

    from penstock.pipeline import WriterSchema
    from penstock.schemas.json_schema import JsonSchema


def broken_in_batches(schema: WriterSchema, text: Column) -> Column:
    """Return the first rule of `schema` that the JSON in `text` breaks, null if it breaks none."""

    def check(texts: pa.Array) -> pa.Array:
        return check_batch(schema, texts)

    udf = arrow_udf(check, "string")  # type: ignore[call-overload]
    return cast("Column", udf(text))


def check_batch(schema: WriterSchema, texts: pa.Array) -> pa.Array:
    """Return what is wrong with each text; nothing is if it is not JSON, which others tell."""
    parsed = _parsed(schema)
    return pa.array([_first_problem(parsed, text.as_py()) for text in texts], pa.string())


def _first_problem(schema: JsonSchema, text: str | None) -> str | None:
    if text is None:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for problem in problems(schema, document, limit=1):
        return f"`{problem.path}` {problem.message}" if problem.path else problem.message
    return None


@lru_cache(maxsize=64)
def _parsed(schema: WriterSchema) -> JsonSchema:
    """Return the schema; a worker keeps it for all batches."""
    return parse(schema.text, schema.references, stored=True)
