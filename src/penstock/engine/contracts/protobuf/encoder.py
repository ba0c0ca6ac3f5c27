"""Protobuf out of flows: rows become messages behind their indexes, in batches of Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType

from penstock.engine.contracts.protobuf.batches import in_batches
from penstock.engine.contracts.protobuf.checks import first_problem
from penstock.engine.contracts.protobuf.descriptors import message_type, parsed
from penstock.engine.contracts.protobuf.shapes import fields_of, has_json
from penstock.engine.contracts.protobuf.writing import RecordWriter
from penstock.pipeline import Protobuf
from penstock.schemas.protobuf.indexes import encode_indexes
from penstock.schemas.protobuf.messages import message_indexes

if TYPE_CHECKING:
    from pyspark.sql import Column

    from penstock.pipeline import Contract


def encoded(contract: Contract, payload: Column) -> Column:
    """Return what follows the wire prefix: message indexes, and the message.

    It is null for a null row, and for one that `unwritable` has a reason for.
    """
    written = in_batches(_writer(contract).write, BinaryType())(payload)
    # A row that is no message must not become a tombstone, whatever was overlooked here.
    overlooked = written.isNull() & payload.isNotNull() & unwritable(contract, payload).isNull()
    told = F.lit(f"a row cannot be written with the schema of `{contract.subject}`")
    return F.when(overlooked, F.raise_error(told).cast("binary")).otherwise(written)


def unwritable(contract: Contract, payload: Column) -> Column:
    """Return why the row cannot be written, beginning with the field; null if it can."""
    writer = _writer(contract)
    descriptor = writer.message.descriptor()
    fields = fields_of(descriptor)
    problem = first_problem(descriptor, fields, payload)
    if not has_json(fields):
        return problem
    return F.coalesce(problem, in_batches(writer.problems, StringType())(payload))


def _writer(contract: Contract) -> RecordWriter:
    assert contract.written is not None  # noqa: S101 - the binding has found it
    assert isinstance(contract.format, Protobuf)  # noqa: S101 - that is who calls
    schema = parsed(contract.written)
    message = message_type(schema, contract.format.message)
    indexes = encode_indexes(message_indexes(schema, message.name))
    return RecordWriter(message=message, indexes=indexes)
