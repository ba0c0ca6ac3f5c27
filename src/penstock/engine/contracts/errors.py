"""What can be wrong between a flow and the schemas of what it reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.errors import Origin
    from penstock.schemas import Incompatibility


class UnknownSchemaIdError(PenstockError):
    """A record names a schema that nobody has asked the registry about yet."""

    code = "PEN-381"
    retryable = True
    wait_seconds = 0.0

    def __init__(self, flow: str, *, schema_id: str, subject: str) -> None:
        super().__init__(
            f"flow `{flow}` met schema id {schema_id}, which was not among the versions of "
            f"`{subject}` when it started",
            hint="it starts again once the registry has been asked; nothing is to be done",
        )
        self.schema_id, self.subject = schema_id, subject


class UnknownSchemaError(PenstockError):
    """The schema of a topic is nowhere to be found."""

    code = "PEN-382"

    def __init__(self, what: str, *, looked_for: str, hint: str, origin: Origin) -> None:
        super().__init__(
            f"the schema of {what} is not known: {looked_for}", hint=hint, origin=origin
        )


class UnreadableSchemaError(PenstockError):
    """Spark has no columns for a schema."""

    code = "PEN-383"

    def __init__(self, name: str | None, *, reason: str) -> None:
        called = f"the schema `{name}`" if name else "the schema"
        super().__init__(
            f"{called} cannot be read into columns: {reason}",
            hint="declare the topic as `ps.bytes()` and decode it in the flow",
        )


class UninferrableSchemaError(PenstockError):
    """The columns of a flow have no schema of the kind that their topic is declared with."""

    code = "PEN-380"

    def __init__(self, column: str, *, reason: str) -> None:
        super().__init__(
            f"no schema can be made for the column `{column}`: {reason}",
            hint="give the column another name or type in the flow, or write the schema yourself",
        )


class IncompatibleSchemaError(PenstockError):
    """What a flow would write is refused by the rules of its subject."""

    code = "PEN-384"

    def __init__(
        self, subject: str, *, level: str, problems: Sequence[Incompatibility], origin: Origin
    ) -> None:
        told = "; ".join(f"{item.path or '/'} {item.kind}: {item.message}" for item in problems)
        super().__init__(
            f"the schema for `{subject}` is not compatible ({level}): {told}",
            hint=f"`penstock schemas diff {subject}` shows the change; give new fields a default",
            origin=origin,
        )
        self.problems = tuple(problems)


class NotRegisteredYetError(PenstockError):
    """A flow would write with a schema that is not registered, and may not register it."""

    code = "PEN-385"

    def __init__(self, subject: str, *, origin: Origin) -> None:
        super().__init__(
            f"the schema for `{subject}` is not registered, and `registry.register` is off",
            hint="register it with `penstock schemas push`, or let flows do so: "
            "`registry.register = true`",
            origin=origin,
        )
