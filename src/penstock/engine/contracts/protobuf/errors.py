"""What can be wrong between Protobuf and the columns of Spark."""

from __future__ import annotations

from penstock.errors import PenstockError


class UnreadableMessageError(PenstockError):
    """Spark has no columns for a message."""

    code = "PEN-378"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(
            f"the message `{message}` cannot be read into columns: {reason}",
            hint="name another message with `ps.protobuf(message=…)`, or declare the topic as "
            "`ps.bytes()` and decode it in the flow",
        )
        self.message_name = message


class NoProtobufTypeError(PenstockError):
    """A column cannot be a field of a message."""

    code = "PEN-379"

    def __init__(self, column: str, *, reason: str) -> None:
        super().__init__(
            f"the column `{column}` cannot be a field of Protobuf: {reason}",
            hint="change the column in the flow, with `cast` or `alias`, or write the schema "
            "into `schemas/` yourself",
        )
        self.column = column
