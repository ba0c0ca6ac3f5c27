"""Protobuf schemas: parsed by protoc, printed, compared, and made into messages."""

from penstock.schemas.protobuf.schema import ProtobufSchema, parse

__all__ = ["ProtobufSchema", "parse"]
