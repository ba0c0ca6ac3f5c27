"""What is wrong with a schema, and where."""

from penstock.errors import UsageError


class InvalidSchemaError(UsageError):
    """A text is not a schema of its type."""

    code = "PEN-700"

    def __init__(self, reason: str, *, path: str = "") -> None:
        """Say what is wrong.

        Args:
            reason: What was found and what was expected; starts in lower case.
            path: Where: a JSON pointer, or `line:column`. Empty for the schema as a whole.
        """
        super().__init__(
            f"{reason}, at `{path}`" if path else reason,
            hint="`penstock schemas check FILE` tells this before anything is registered",
        )
        self.reason = reason
        self.path = path
