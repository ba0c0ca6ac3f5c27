"""The table `spark.conf`: Spark's own settings as users write them, checked and flattened.

TOML reads `spark.sql.x = 1` as nested tables and `"spark.sql.x" = 1` as one key: both are meant.
In an environment variable the entries are `key=value`, separated by commas.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

OWNED = {
    "spark.app.name": "`pipeline.name`",
    "spark.driver.memory": "`spark.driver_memory_mb`",
    "spark.master": "`spark.master`",
    "spark.sql.streaming.checkpointLocation": "`spark.checkpoint_root`",
    "spark.sql.warehouse.dir": "`spark.warehouse`",
    "spark.submit.deployMode": "nothing: the driver runs where `penstock run` does",
}
"""Settings that Penstock derives from its own, and what to set instead."""

_SECRET = re.compile(r"(?i)secret|password|token|access[.]?key")
"""What Spark itself takes for the name of a secret (`spark.redaction.regex`)."""


def is_secret(key: str) -> bool:
    """Return whether Spark keeps the value of `key` out of its own logs."""
    return _SECRET.search(key) is not None


def _flattened(value: object) -> object:
    if isinstance(value, str):
        return dict(_entries(value))
    return dict(_leaves(value, "")) if isinstance(value, Mapping) else value


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for entry in text.split(","):
        key, equals, value = entry.partition("=")
        if not equals:
            reason = f"`{entry}` is not `key=value`"
            raise ValueError(reason)
        yield key.strip(), value.strip()


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif isinstance(value, bool):
            yield prefix + name, str(value).lower()
        else:
            yield prefix + name, str(value) if isinstance(value, int | float) else value


def _ours_left_out(conf: Mapping[str, str]) -> Mapping[str, str]:
    for key in conf:
        if not key.startswith("spark."):
            reason = f"`{key}` does not begin with `spark.`"
            raise ValueError(reason)
        if key in OWNED:
            reason = f"`{key}` is Penstock's to set; set {OWNED[key]}"
            raise ValueError(reason)
    return conf


SparkConf = Annotated[
    Mapping[str, str], BeforeValidator(_flattened), AfterValidator(_ours_left_out)
]
