"""What the second step of validation finds: each problem is at a line that the user wrote.

NotAnalyzedError, NotAStreamError               what the function of a flow or view does
WrongTypeError, UnknownColumnsError             declarations that only Spark can judge
UnboundedStateError, SecondWatermarkError, UnsupportedOperatorError, OutputModeError
RouteColumnError, FlowSettingError, UsedTwiceError
NotRealTimeError, TooFewTaskSlotsError

Problems between a flow and its target's columns are in `flow_errors.py`.
"""

from penstock.errors import Origin
from penstock.pipeline import DeclarationError, Flow, OutputMode, Table


class NotAnalyzedError(DeclarationError):
    """Spark cannot analyze what a flow or view does: an unknown column, a wrong type."""

    code = "PEN-320"

    def __init__(self, *, who: str, reason: str, hint: str, origin: Origin) -> None:
        super().__init__(f"{who}: {reason}", hint=hint, origin=origin)


class NotAStreamError(DeclarationError):
    """What a function gives back cannot be run as a stream."""

    code = "PEN-321"

    def __init__(self, *, who: str, found: str, hint: str, origin: Origin) -> None:
        super().__init__(
            f"{who} returns {found}, a streaming DataFrame is needed", hint=hint, origin=origin
        )


class WrongTypeError(DeclarationError):
    """A schema names a type that Spark does not have."""

    code = "PEN-322"

    def __init__(self, *, who: str, setting: str, reason: str, origin: Origin) -> None:
        super().__init__(
            f"{who}: `{setting}`: {reason}",
            hint="types are Spark's, such as `string`, `int`, `bigint`, `double`, `timestamp`,"
            " `decimal(10,2)`, `array<string>`",
            origin=origin,
        )


class UnknownColumnsError(DeclarationError):
    """Nobody says which columns a table has."""

    code = "PEN-323"

    def __init__(self, table: Table) -> None:
        super().__init__(
            f"the columns of table `{table.name}` are not known: it has no `schema`, and no flow"
            " writes it",
            hint=f'declare them: `ps.table("{table.name}", schema="…")`',
            origin=table.origin,
        )


class UnboundedStateError(DeclarationError):
    """An operator keeps something of every record for ever, so its state only grows."""

    code = "PEN-324"

    def __init__(self, flow: Flow, *, operator: str, lacks: str, hint: str, origin: Origin) -> None:
        super().__init__(
            f"the state of flow `{flow.name}` grows for ever: {operator} {lacks}",
            hint=hint,
            origin=origin,
        )
        self.operator = operator


class SecondWatermarkError(DeclarationError):
    """A flow sets a watermark where there is one, which would silently replace the first."""

    code = "PEN-325"

    def __init__(self, flow: Flow, *, column: str, first: str, hint: str, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow.name}` sets a watermark on `{column}`, but its input has one on"
            f" `{first}` already",
            hint=hint,
            origin=origin,
        )


class UnsupportedOperatorError(DeclarationError):
    """A flow uses something that Spark has for tables and not for streams."""

    code = "PEN-326"

    def __init__(self, flow: Flow, *, operator: str, instead: str, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow.name}` cannot run as a stream: {operator}", hint=instead, origin=origin
        )
        self.operator = operator


class OutputModeError(DeclarationError):
    """What a flow computes cannot be written in the output mode it asks for."""

    code = "PEN-327"

    def __init__(self, flow: Flow, *, operator: str, instead: str, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow.name}` cannot have the output mode `{flow.output_mode}`: {operator}",
            hint=instead,
            origin=origin,
        )
        self.operator = operator
        self.output_mode: OutputMode = flow.output_mode


class RouteColumnError(DeclarationError):
    """The column `_route` is missing, not a string, or there without routes to choose from."""

    code = "PEN-328"

    def __init__(self, flow: Flow, *, problem: str, hint: str) -> None:
        super().__init__(f"flow `{flow.name}` {problem}", hint=hint, origin=flow.origin)


class FlowSettingError(DeclarationError):
    """A Spark setting cannot be chosen for one flow."""

    code = "PEN-329"

    def __init__(self, flow: Flow, *, setting: str, reason: str, hint: str) -> None:
        super().__init__(
            f"flow `{flow.name}` sets `{setting}` in `conf`: {reason}",
            hint=hint,
            origin=flow.origin,
        )
        self.setting = setting


class NotRealTimeError(DeclarationError):
    """A flow with the trigger `real_time` does something that this mode does not have."""

    code = "PEN-330"

    def __init__(self, flow: Flow, *, because: str, instead: str, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow.name}` cannot run in real time: {because}", hint=instead, origin=origin
        )
        self.because = because


class TooFewTaskSlotsError(DeclarationError):
    """A real-time flow needs a task slot for each partition; without one it is never read."""

    code = "PEN-331"

    def __init__(self, flow: Flow, *, partition_count: int, task_slots: int) -> None:
        super().__init__(
            f"flow `{flow.name}` reads {partition_count} partitions in real time, but Spark has"
            f" {task_slots} task slots: the others would never be read",
            hint=f"set `spark.master` to `local[{partition_count}]` or to a cluster with as many"
            " cores, or leave out `trigger=`",
            origin=flow.origin,
        )
        self.partition_count, self.task_slots = partition_count, task_slots


class UsedTwiceError(DeclarationError):
    """A plan reads one dataset more than once, for which one name in the checkpoint is too few."""

    code = "PEN-332"

    def __init__(self, flow: Flow, *, dataset: str) -> None:
        super().__init__(
            f"flow `{flow.name}` uses `{dataset}` twice: its result is joined or united with"
            " another branch of the same stream",
            hint="make two flows of it, one per branch, that write the same target; or do both in"
            " one pass, with `F.explode` or `F.when`",
            origin=flow.origin,
        )
        self.dataset = dataset
