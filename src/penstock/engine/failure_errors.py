"""What the failure of a running query is called; `failures.py` decides which it is."""

from typing import ClassVar

from penstock.engine.events import FailureClass
from penstock.errors import Origin, PenstockError


class QueryFailedError(PenstockError):
    """The query of a flow ended with an error."""

    failure: ClassVar[FailureClass]

    def __init__(self, flow: str, message: str, *, origin: Origin | None = None) -> None:
        super().__init__(
            f"flow `{flow}`: {message}", hint=self._hint.format(flow=flow), origin=origin
        )
        self.flow = flow

    _hint: ClassVar[str]


class UserCodeError(QueryFailedError):
    """A function of the user raised while records went through it."""

    code = "PEN-347"
    failure = FailureClass.CODE
    _hint = "correct the function; the flow goes on with the same records when it starts again"


class BadDataError(QueryFailedError):
    """A value in a record cannot be what an expression of the flow takes it for."""

    code = "PEN-348"
    failure = FailureClass.DATA
    _hint = "use the forms that give null, such as `try_cast`, or filter such rows before"


class RecordsGoneError(QueryFailedError):
    """Kafka no longer has records that a running query was going to read."""

    code = "PEN-349"
    retryable = True  # at the next start topics and offsets are compared, which settles it
    failure = FailureClass.DATA
    _hint = '`on_data_loss="continue"` at the topic lets the flow go on without such records'


class SecondWriterError(QueryFailedError):
    """Another process uses the same checkpoint."""

    code = "PEN-350"
    failure = FailureClass.STORAGE
    _hint = "stop the other process that runs the flow; one checkpoint serves one query"


class StateMismatchError(QueryFailedError):
    """The flow has been changed in a way that its stored state does not fit."""

    code = "PEN-351"
    failure = FailureClass.CODE
    _hint = "undo the change of the flow; or give it a new name: it then begins anew"


class StateDamagedError(QueryFailedError):
    """Files of the state are missing or damaged."""

    code = "PEN-352"
    failure = FailureClass.STORAGE
    _hint = "put back a copy of the checkpoint; or move it away: the flow then begins anew"


class KafkaFaultError(QueryFailedError):
    """Kafka did not answer, or answered that it cannot serve now."""

    code = "PEN-353"
    retryable = True
    failure = FailureClass.KAFKA
    _hint = "`penstock doctor` and `penstock cluster` show whether brokers answer"


class KafkaRefusedError(QueryFailedError):
    """Kafka refused what the query asks for."""

    code = "PEN-354"
    failure = FailureClass.KAFKA
    _hint = "check the credentials of the profile, and what this user and these topics allow"


class QueryConfigurationError(QueryFailedError):
    """A setting is wrong, or something that it names is not installed."""

    code = "PEN-355"
    failure = FailureClass.CONFIGURATION
    _hint = "`penstock config show --spark` lists the settings of Spark; `{flow}` may add its own"


class UnexplainedFailureError(QueryFailedError):
    """The query failed in a way that Penstock has no explanation for."""

    code = "PEN-356"
    retryable = True
    failure = FailureClass.UNKNOWN
    _hint = "see the log of the driver for what Spark says about it"


class PlanRefusedError(QueryFailedError):
    """Spark refuses the plan of a flow before the first record."""

    code = "PEN-357"
    failure = FailureClass.CODE
    _hint = "`penstock validate` finds this without running the flow"


class QueryHangsError(PenstockError):
    """A query does not stop."""

    code = "PEN-358"

    def __init__(self, flow: str, reason: str) -> None:
        super().__init__(
            f"the query of flow `{flow}` does not stop: {reason}",
            hint="end the process: at its next start the flow runs the open batch again",
        )
        self.flow = flow
