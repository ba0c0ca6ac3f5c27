"""Protobuf in pipelines: which columns messages have, and how records are read and written."""

from penstock.engine.contracts.protobuf.decoder import ProtobufDecoder, columns
from penstock.engine.contracts.protobuf.encoder import encoded, unwritable
from penstock.engine.contracts.protobuf.inferring import inferred

__all__ = ["ProtobufDecoder", "columns", "encoded", "inferred", "unwritable"]
