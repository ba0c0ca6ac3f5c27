"""What can be wrong between a dataset and a flow: its function, its columns, its key, its tables.

FlowFunctionError, NoDataFrameError             the user's function
MissingOutputColumnError, ExtraOutputColumnError, OutputTypeError, MissingOutputKeyError
LookupColumnsError, EventTimeTypeError, PrivateKeyFormatError, TableMissingError
"""

from collections.abc import Sequence
from pathlib import Path

from penstock.errors import Origin, PenstockError, UsageError
from penstock.names import nearest


class FlowFunctionError(PenstockError):
    """The function of a flow or view raises while Spark's plan is built."""

    code = "PEN-310"

    def __init__(self, who: str, *, reason: str, origin: Origin) -> None:
        super().__init__(
            f"{who} cannot be built: {reason}",
            hint="call the function in a test with small DataFrames to see the same fault",
            origin=origin,
        )
        self.who = who


class MissingOutputColumnError(UsageError):
    """A flow does not produce a column that its target has."""

    code = "PEN-311"

    def __init__(
        self, column: str, *, flow: str, target: str, found: Sequence[str], origin: Origin
    ) -> None:
        close = nearest(column, found)
        listed = ", ".join(f"`{name}`" for name in found) or "none"
        super().__init__(
            f"flow `{flow}` writes {target} without its column `{column}`",
            hint=f"is it `{close}` in the flow?" if close else f"the flow's columns are: {listed}",
            origin=origin,
        )


class ExtraOutputColumnError(UsageError):
    """A flow produces a column that its target does not have."""

    code = "PEN-312"

    def __init__(
        self, column: str, *, flow: str, target: str, declared: Sequence[str], origin: Origin
    ) -> None:
        listed = ", ".join(f"`{name}`" for name in declared)
        super().__init__(
            f"flow `{flow}` produces the column `{column}`, which {target} does not have",
            hint=f"drop it in the flow, or add it to the schema, which has: {listed}",
            origin=origin,
        )


class OutputTypeError(UsageError):
    """A column of a flow has a type that does not fit that of its target."""

    code = "PEN-313"

    def __init__(
        self, column: str, *, flow: str, target: str, found: str, expected: str, origin: Origin
    ) -> None:
        super().__init__(
            f"flow `{flow}` produces `{column}` as `{found}`, {target} has it as `{expected}`",
            hint=f'convert it in the flow, such as by `.try_cast("{expected}")`, or change the'
            " schema",
            origin=origin,
        )


class MissingOutputKeyError(UsageError):
    """A flow does not produce the column that makes its target's key."""

    code = "PEN-314"

    def __init__(
        self, column: str, *, flow: str, target: str, found: Sequence[str], origin: Origin
    ) -> None:
        close = nearest(column, found)
        listed = ", ".join(f"`{name}`" for name in found) or "none"
        super().__init__(
            f"flow `{flow}` writes {target} without its key column `{column}`",
            hint=f"is it `{close}` in the flow?" if close else f"the flow's columns are: {listed}",
            origin=origin,
        )


class NoDataFrameError(UsageError):
    """The function of a flow or view returns something else than a DataFrame."""

    code = "PEN-315"

    def __init__(self, who: str, *, found: object, origin: Origin) -> None:
        what = "nothing" if found is None else f"`{type(found).__name__}`"
        super().__init__(
            f"{who} returns {what}, expected a DataFrame",
            hint="end the function with `return` and the DataFrame",
            origin=origin,
        )


class LookupColumnsError(UsageError):
    """A frame cannot be joined with reference data, because they share no column."""

    code = "PEN-316"

    def __init__(
        self, *, wanted: Sequence[str], frame: Sequence[str], lookup: Sequence[str]
    ) -> None:
        named = ", ".join(f"`{name}`" for name in wanted) or "no column"
        super().__init__(
            f"`enrich` joins on {named}; the frame has {_listed(frame)}, the lookup"
            f" {_listed(lookup)}",
            hint='name columns that both have: `ps.enrich(frame, lookup, on="host")`',
        )


class PrivateKeyFormatError(UsageError):
    """The client's private key is in a form that Java's Kafka client cannot read."""

    code = "PEN-317"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"`ssl_key` names `{path}`, which is not a PKCS#8 key in PEM, as Spark needs it",
            hint=f"`openssl pkcs8 -topk8 -nocrypt -in {path} -out key.pem` converts it",
        )


class EventTimeTypeError(UsageError):
    """The event time of a topic is not a timestamp."""

    code = "PEN-318"

    def __init__(self, column: str, *, topic: str, found: str, origin: Origin) -> None:
        super().__init__(
            f"topic `{topic}` has the event time `{column}` as `{found}`, expected `timestamp`",
            hint=f"declare `{column} timestamp` in the schema of the value",
            origin=origin,
        )


class TableMissingError(PenstockError):
    """A flow reads a table that nobody has written yet and whose columns nobody has declared."""

    code = "PEN-319"
    retryable = True

    def __init__(self, table: str, *, path: str, origin: Origin) -> None:
        super().__init__(
            f"table `{table}` is not at `{path}`, and its declaration does not say its columns",
            hint="add `schema=` to the declaration, or run the flow that writes it first",
            origin=origin,
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
