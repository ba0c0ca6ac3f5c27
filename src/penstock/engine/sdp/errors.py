"""What can be wrong with a project of Spark Declarative Pipelines, each at the user's line.

UnsupportedFeatureError     Spark has it, Penstock does not
SqlStatementError           a statement of a SQL file
QueryKindError              a stream where a table is needed, or the other way round
SchemasDifferError          flows into one table do not agree on a column
"""

from penstock.errors import Origin
from penstock.pipeline import DeclarationError


class UnsupportedFeatureError(DeclarationError):
    """A project uses a part of Spark Declarative Pipelines that Penstock does not have."""

    code = "PEN-370"

    def __init__(self, *, feature: str, instead: str, origin: Origin) -> None:
        super().__init__(f"{feature} is not supported", hint=instead, origin=origin)
        self.feature = feature


class SqlStatementError(DeclarationError):
    """A statement of a SQL file cannot be read."""

    code = "PEN-371"

    def __init__(self, reason: str, *, origin: Origin) -> None:
        super().__init__(
            f"`{origin.file.name}`: {reason}",
            hint="a SQL file declares streaming tables, materialized views, temporary views and"
            " flows; see `docs/declarative-pipelines.md`",
            origin=origin,
        )


class QueryKindError(DeclarationError):
    """A query is a stream and must not be, or is none and must be."""

    code = "PEN-372"

    def __init__(self, who: str, *, needed: str, hint: str, origin: Origin) -> None:
        super().__init__(f"{who} is no {needed}", hint=hint, origin=origin)


class SchemasDifferError(DeclarationError):
    """Two flows into one table have a column of the same name and different types."""

    code = "PEN-373"

    def __init__(
        self, column: str, *, table: str, flow: str, types: tuple[str, str], origin: Origin
    ) -> None:
        super().__init__(
            f"flow `{flow}` writes the column `{column}` of table `{table}` as `{types[1]}`, which"
            f" is `{types[0]}` there",
            hint="cast the column in this flow, or state the `schema` of the table",
            origin=origin,
        )
