"""What goes wrong with Protobuf schemas and with the messages they describe.

A schema that is wrong is an `InvalidSchemaError`, as with every other type.
"""

from penstock.errors import PenstockError, UsageError


class MessageMismatchError(UsageError):
    """A value is not one of the message that a schema describes."""

    code = "PEN-710"

    def __init__(self, message: str, *, field: str, reason: str) -> None:
        """Say which field is wrong.

        Args:
            message: The full name of the message.
            field: The path of the field (`items[1].price`), empty for the message as a whole.
            reason: What was found and what was expected.
        """
        where = f"`{field}` of `{message}`" if field else f"`{message}`"
        super().__init__(
            f"{where} does not fit: {reason}",
            hint="`penstock schemas show SUBJECT` prints the message with its fields",
        )
        self.message_name = message
        self.field = field
        self.reason = reason


class UnknownMessageError(UsageError):
    """A schema has no message of this name or at this index."""

    code = "PEN-711"

    def __init__(self, asked: str | list[int] | None, *, known: tuple[str, ...]) -> None:
        """Say what was asked for: a full name, an index, or nothing but some message."""
        wanted = f" at index {asked}" if isinstance(asked, list) else f" `{asked}`" if asked else ""
        has = ", ".join(f"`{name}`" for name in known[:10]) or "no message"
        more = f" and {len(known) - 10} more" if len(known) > 10 else ""
        super().__init__(
            f"the schema has no message{wanted}; it has {has}{more}",
            hint="`penstock schemas show SUBJECT` prints all messages of a schema",
        )
        self.known = known


class UndecodableMessageError(PenstockError):
    """Bytes are not a message of the schema they are said to have."""

    code = "PEN-712"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(
            f"these bytes are not a `{message}`: {reason}",
            hint="`penstock consume TOPIC --json` shows the records byte for byte",
        )


class CompilerUnavailableError(PenstockError):
    """protoc, which reads Protobuf schemas, does not start."""

    code = "PEN-713"

    def __init__(self, *, status: int | None) -> None:
        super().__init__(
            f"protoc ended with status {status} before it read anything",
            hint="`python -m grpc_tools.protoc --version` shows what is wrong with it",
        )


class MessageIndexesError(PenstockError):
    """A record does not say which message of its schema it holds."""

    code = "PEN-714"

    def __init__(self, *, reason: str) -> None:
        super().__init__(
            f"the record does not begin with message indexes: {reason}",
            hint="`penstock consume TOPIC --json` shows the records byte for byte",
        )
