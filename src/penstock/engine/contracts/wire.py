"""The wire format of registries: a zero, the id of a schema in four bytes, and the data.

An id that nobody has asked the registry about yet must not be taken for a broken record: it makes
the batch fail inside Spark, the engine asks (`binding.py`) and starts the flow again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from penstock.pipeline import Contract

PREFIX_LENGTH = 5
GUID_LENGTH = 17
_MAGIC = b"\x00"
_GUID_MAGIC = b"\x01"
_MARK = "penstock-unknown-schema"
_MARKED = re.compile(rf"{_MARK} (\S+) of `([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownId:
    """A record names a schema that the flow's contract does not have."""

    subject: str
    id: str
    """A number, or a GUID with its hyphens."""


def prefix_of(schema_id: int) -> bytes:
    """Return the bytes before data that is written with the schema of this id."""
    return _MAGIC + schema_id.to_bytes(4, "big")


def guid_header(guid: str) -> bytes:
    """Return the value of a header that names a schema by its GUID."""
    return _GUID_MAGIC + bytes.fromhex(guid.replace("-", ""))


def is_framed(source: Column) -> Column:
    """Tell whether bytes begin with a whole prefix, as the wire format has it."""
    starts = F.substring(source, 1, 1) == F.lit(_MAGIC)
    return starts & (F.octet_length(source) >= PREFIX_LENGTH)


def foreign_reason(what: str) -> Column:
    """Return what is said of bytes without a prefix."""
    return F.lit(f"{what} is not in a registry's wire format")


def schema_id(source: Column) -> Column:
    """Return the id in the prefix as a number."""
    return F.conv(F.hex(F.substring(source, 2, 4)), 16, 10).cast("bigint")


def data(source: Column) -> Column:
    """Return what follows the prefix."""
    return F.substring(source, PREFIX_LENGTH + 1, 2**31 - 1)


def framed(schema_id: int, payload: Column) -> Column:
    """Return `payload` after the prefix of the schema of this id."""
    return F.concat(F.lit(prefix_of(schema_id)), payload)


def unknown_id(contract: Contract, named: Column, kind: DataType | None = None) -> Column:
    """Return what makes the batch fail: `named` is the id that the record names, as text.

    A type must be given where no other branch of the expression has one.
    """
    what = F.lit(f"{_MARK} "), named.cast("string"), F.lit(f" of `{contract.subject}`")
    failure = F.raise_error(F.concat(*what))
    return failure if kind is None else failure.cast(kind)


def unknown_in(message: str) -> UnknownId | None:
    """Return the id that a failure of Spark is about, if it is about one."""
    found = _MARKED.search(message)
    return UnknownId(id=found[1], subject=found[2]) if found else None
