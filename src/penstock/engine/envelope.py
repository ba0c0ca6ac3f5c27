"""The headers by which a dead letter says where it was and why it is here.

Key, value and the record's own headers stay as they were. Names follow Kafka Connect where it has
one, so tools that read its dead letters read ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

    from penstock.names import FlowName


class DeadLetterClass(StrEnum):
    """Why a record could not go on."""

    UNDECODABLE = "undecodable"
    """Its bytes do not match the format."""

    CODE = "code"
    """The flow's function made something of it that nobody takes."""


def envelope(
    own: Column, *, origin: Column, flow: FlowName, kind: DeadLetterClass, reason: Column
) -> Column:
    """Return the headers of a dead letter.

    Args:
        own: the record's own headers; null for none.
        origin: headers that say where the record was.
        flow: which flow could not go on with it.
        kind: the class of the failure.
        reason: a short text.
    """
    ours = F.array(
        header("penstock.flow", F.lit(str(flow))),
        header("penstock.class", F.lit(kind.value)),
        header("penstock.reason", reason),
    )
    none = F.array().cast("array<struct<key:string,value:binary>>")
    return F.concat(F.coalesce(own, none), F.coalesce(origin, none), ours)


def place_in_topic(topic: Column, partition: Column, offset: Column) -> Column:
    """Return the headers that say where a record stood in Kafka."""
    return F.array(
        header("__connect.errors.topic", topic),
        header("__connect.errors.partition", partition),
        header("__connect.errors.offset", offset),
    )


def place_in_file(path: Column) -> Column:
    """Return the header that says in which file a line stood."""
    return F.array(header("penstock.file", path))


def header(name: str, value: Column) -> Column:
    """Return one header with a text as its value."""
    text = value.cast("string").cast("binary")
    return F.struct(F.lit(name).alias("key"), text.alias("value"))
