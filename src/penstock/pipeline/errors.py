"""What can be wrong with a project before any Spark is started.

InvalidPipelineError        all problems of a step, together
ProjectNotFoundError, ProjectNotLoadedError
DeclarationError            the base of single problems
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.errors import Origin, PenstockError, UsageError
from penstock.names import nearest


class InvalidPipelineError(UsageError):
    """The declarations of a project cannot run as they are."""

    code = "PEN-100"

    def __init__(self, pipeline: str, problems: Sequence[PenstockError]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"pipeline `{pipeline}` has {count}",
            hint="`penstock validate` shows them again; nothing was started or changed",
        )
        self.problems = tuple(problems)

    def as_dict(self) -> dict[str, object]:
        """Return the fields of the error and of each problem."""
        return super().as_dict() | {"problems": [item.as_dict() for item in self.problems]}


class ProjectNotFoundError(UsageError):
    """There is no project where one was looked for."""

    code = "PEN-101"

    def __init__(self, folder: Path, *, looked_for: Sequence[str]) -> None:
        names = ", ".join(f"`{name}`" for name in looked_for)
        super().__init__(
            f"`{folder}` holds no pipeline: looked for {names}",
            hint="`penstock init` writes a small project; `[pipeline] files` in penstock.toml"
            " names other files",
        )


class DeclarationError(UsageError):
    """One problem of a project, at a line the user wrote."""


class ProjectNotLoadedError(DeclarationError):
    """A file of the project cannot be imported."""

    code = "PEN-102"

    def __init__(self, file: Path, *, reason: str, origin: Origin) -> None:
        super().__init__(
            f"`{file.name}` cannot be imported: {reason}",
            hint="importing the file by itself shows the same fault",
            origin=origin,
        )


class InvalidDeclarationError(DeclarationError):
    """An argument of a declaration has a wrong type or value."""

    code = "PEN-103"

    def __init__(self, *, what: str, argument: str, reason: str, origin: Origin) -> None:
        super().__init__(
            f"{what}: `{argument}`: {reason}",
            hint=f"change `{argument}` in this declaration",
            origin=origin,
        )


class UnknownDatasetError(DeclarationError):
    """A flow, view or lookup names a dataset that nobody declares."""

    code = "PEN-104"

    def __init__(self, name: str, *, who: str, known: Iterable[str], origin: Origin) -> None:
        names = sorted(known)
        close = nearest(name, names)
        listed = ", ".join(f"`{item}`" for item in names) or "none"
        super().__init__(
            f"{who} names the dataset `{name}`, which is not declared",
            hint=f"did you mean `{close}`?" if close else f"declared are: {listed}",
            origin=origin,
        )


class NameTakenError(DeclarationError):
    """Two declarations have the same name."""

    code = "PEN-105"

    def __init__(self, name: str, *, what: str, first: Origin, origin: Origin) -> None:
        super().__init__(
            f"{what} `{name}` is declared a second time; the first is at {first}",
            hint="give one of them another name",
            origin=origin,
        )


class CycleError(DeclarationError):
    """Views, lookups or flows feed each other in a circle."""

    code = "PEN-106"

    def __init__(self, way: Sequence[str], *, origin: Origin) -> None:
        super().__init__(
            f"the pipeline goes round in a circle: {' → '.join((*way, way[0]))}",
            hint="let one of them read or write another dataset",
            origin=origin,
        )


class TableOwnedTwiceError(DeclarationError):
    """Several flows write a table that only one can write."""

    code = "PEN-107"

    def __init__(self, table: str, *, flows: Sequence[str], why: str, origin: Origin) -> None:
        listed = ", ".join(f"`{name}`" for name in flows)
        super().__init__(
            f"table `{table}` is written by the flows {listed}, but {why}",
            hint="let one flow write it, or make it a Delta table to which all append",
            origin=origin,
        )


class MissingKeyColumnError(DeclarationError):
    """The key of a topic or table names a column that is not there."""

    code = "PEN-108"

    def __init__(self, column: str, *, who: str, columns: Iterable[str], origin: Origin) -> None:
        names = list(columns)
        close = nearest(column, names)
        listed = ", ".join(f"`{name}`" for name in names) or "none"
        super().__init__(
            f"{who} has the key column `{column}`, which is not among its columns",
            hint=f"did you mean `{close}`?" if close else f"its columns are: {listed}",
            origin=origin,
        )


class MissingColumnError(DeclarationError):
    """A setting of a dataset names a column that its schema does not have."""

    code = "PEN-109"

    def __init__(
        self, column: str, *, who: str, setting: str, columns: Iterable[str], origin: Origin
    ) -> None:
        names = list(columns)
        close = nearest(column, names)
        listed = ", ".join(f"`{name}`" for name in names) or "none"
        super().__init__(
            f"{who} names the column `{column}` in `{setting}`, which its schema does not have",
            hint=f"did you mean `{close}`?" if close else f"its columns are: {listed}",
            origin=origin,
        )


class NotWritableError(DeclarationError):
    """A flow writes into something that cannot be written."""

    code = "PEN-110"

    def __init__(self, name: str, *, flow: str, kind: str, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow}` writes into `{name}`, which is a {kind}",
            hint="write into a topic or a table",
            origin=origin,
        )


class ContradictionError(DeclarationError):
    """Two choices of one declaration exclude each other."""

    code = "PEN-111"

    def __init__(self, *, what: str, reason: str, hint: str, origin: Origin) -> None:
        super().__init__(f"{what}: {reason}", hint=hint, origin=origin)


class NoFlowsError(DeclarationError):
    """A project that declares no flow does nothing."""

    code = "PEN-112"

    def __init__(self, *, origin: Origin) -> None:
        super().__init__(
            "the project declares no flow",
            hint="decorate a function with `@ps.flow(into=…)`, or see `penstock init`",
            origin=origin,
        )


class UnknownFlowError(UsageError):
    """A command names a flow that the pipeline does not have."""

    code = "PEN-113"

    def __init__(self, flow: str, *, known: Iterable[str]) -> None:
        names = sorted(known)
        close = nearest(flow, names)
        listed = ", ".join(f"`{name}`" for name in names)
        super().__init__(
            f"the pipeline has no flow `{flow}`",
            hint=f"did you mean `{close}`?" if close else f"its flows are: {listed}",
        )
