"""What can be wrong with a record and its schema, in either direction."""

from penstock.errors import PenstockError, UsageError


class UnfitRecordError(PenstockError):
    """A value is not one that the schema allows; `path` is the field that is wrong."""

    code = "PEN-750"

    def __init__(
        self, path: str, reason: str, *, advice: str | None = None, side: str = "value"
    ) -> None:
        """Say what is wrong.

        Args:
            path: The field as a JSON pointer; empty for the value as a whole.
            reason: What was found and what was expected, following the name of the field.
            advice: What was probably meant.
            side: Whether it is of the key or the value of a record.
        """
        super().__init__(
            f"field `{path}` of the {side} {reason}" if path else f"the {side} {reason}",
            hint=advice or "correct it; `penstock schemas show SUBJECT` prints the schema",
        )
        self.path = path
        self.reason = reason
        self.advice = advice

    def in_schema(self, subject: str, version: int | None, *, side: str) -> "UnfitRecordError":
        """Return the error with the schema that it is about."""
        show = f"penstock schemas show {subject} {version}"
        advice = self.advice or f"correct it; `{show}` prints the schema"
        return UnfitRecordError(self.path, self.reason, advice=advice, side=side)


class UndecodableRecordError(PenstockError):
    """The bytes of a record cannot be read: no schema id, an unknown one, or other data."""

    code = "PEN-751"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the bytes cannot be decoded: {reason}",
            hint="was it written with this format and this registry? `penstock consume` without "
            "a format shows the bytes",
        )
        self.reason = reason


class UnknownSchemaGuidError(UndecodableRecordError):
    """A record's header has the GUID of a schema that the registry does not know."""

    def __init__(self, guid: str) -> None:
        super().__init__(f"schema GUID {guid} is not in the registry")


class UnknownSchemaIdError(UndecodableRecordError):
    """A record has a schema id that the registry, which has answered, does not know."""

    def __init__(self, schema_id: int) -> None:
        super().__init__(f"schema id {schema_id} is not in the registry")


class OtherSchemaTypeError(UndecodableRecordError):
    """A record was written with a schema of another type than the format asked for."""

    def __init__(self, schema_id: int, *, found: str, wanted: str) -> None:
        super().__init__(f"schema id {schema_id} is of type {found}, not {wanted}")


class WrongSchemaTypeError(UsageError):
    """The schema to write with is of another type than the format."""

    code = "PEN-752"

    def __init__(self, *, found: str, wanted: str, schema: str) -> None:
        super().__init__(
            f"{schema} is a schema of type {found}, and the format needs {wanted}",
            hint="choose the format that fits: `avro`, `json-schema` or `protobuf`",
        )
