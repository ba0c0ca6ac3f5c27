"""Why a query failed: whose business it is, in the user's words, and whether trying again helps.

Spark gives a chain of Java exceptions; each link has a class, a message and often a condition such
as `CAST_INVALID_INPUT`. The rules at the end go by condition, SQL state and class. The text of a
message is looked into only where Spark puts a whole Python traceback, or another exception, there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from penstock.engine.contracts.errors import UnknownSchemaIdError
from penstock.engine.contracts.wire import unknown_in
from penstock.engine.events import FailureClass
from penstock.engine.exactly_once.errors import LaneFailedError, LaneRefusedError, LongBatchError
from penstock.engine.exactly_once.tasks import failure_in
from penstock.engine.failure_errors import (
    BadDataError,
    KafkaFaultError,
    KafkaRefusedError,
    PlanRefusedError,
    QueryConfigurationError,
    QueryFailedError,
    RecordsGoneError,
    SecondWriterError,
    StateDamagedError,
    StateMismatchError,
    UnexplainedFailureError,
    UserCodeError,
)
from penstock.engine.storage import StorageFaultError, StorageRefusedError, is_refusal
from penstock.errors import Origin, PenstockError
from penstock.kafka.lanes.errors import LaneToBeKeptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql.streaming.query import StreamingQuery

_MOST_CAUSES = 20
"""Exceptions may be their own cause in a ring."""

_WRAPPER = "StreamingQueryException"
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_JAVA_CLASS = re.compile(r"\b(?:[a-z_][a-z0-9_]*\.)+([A-Z]\w*(?:Exception|Error))\b")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_CALLED_FROM = re.compile(r"was called from\s+(\S+?):(\d+)")
_PATH = re.compile(r"\b[a-z0-9]+:/\S+?(?=[\s,;]|\.(?:\s|$)|$)")
_LIBRARIES = re.compile(r"/(?:site-packages|dist-packages|lib/python3[^/]*)/|^<|\.zip/")
_OURS = str(Path(__file__).parents[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One exception of the chain."""

    kinds: frozenset[str]
    """Simple names of its class and the classes above, and of those that its message names."""

    conditions: frozenset[str]
    """Spark's conditions of the exception and in its message."""

    sql_state: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What went wrong, and who must act."""

    failure: FailureClass
    error: PenstockError


def query_failure(flow: str, query: StreamingQuery) -> Failure | None:
    """Return why a query that has ended did so; None when it was stopped or done."""
    exception = query._jsq.exception()  # noqa: SLF001 - PySpark's own form has no causes
    return None if exception.isEmpty() else explained(flow, _causes(exception.get()))


def failure_of(flow: str, error: Exception) -> Failure:
    """Return what an exception from starting a query, or from work beside it, means."""
    if isinstance(error, PenstockError):
        return Failure(failure=_class_of(error), error=error)
    return explained(flow, causes_of(error))


def causes_of(error: Exception) -> tuple[Cause, ...]:
    """Return the chain of causes of an exception that PySpark raised."""
    if isinstance(error, Py4JJavaError):
        return _causes(error.java_exception)
    origin = getattr(error, "_origin", None) if isinstance(error, CapturedException) else None
    if origin is not None:
        return _causes(origin)
    return (_cause(frozenset({type(error).__name__}), None, "", str(error)),)


def explained(flow: str, causes: Sequence[Cause]) -> Failure:
    """Return the failure that a chain of causes stands for: the first rule that fits says so."""
    for rule in _RULES:
        for cause in reversed(causes):  # the innermost says it best
            if rule.fits(cause):
                error = rule.build(flow, cause)
                if error is not None:
                    return Failure(failure=rule.failure, error=error)
    message = _headline(causes[-1].message) if causes else "Spark gives no reason"
    error = UnexplainedFailureError(flow, message)
    return Failure(failure=error.failure, error=error)


def _causes(throwable: Any) -> tuple[Cause, ...]:  # noqa: ANN401 - an object of Java
    found: list[Cause] = []
    while throwable is not None and len(found) < _MOST_CAUSES:
        found.append(_java_cause(throwable))
        throwable = throwable.getCause()
    # The outermost only repeats what follows, with the whole plan of the query.
    return tuple(found[1:] if len(found) > 1 and _WRAPPER in found[0].kinds else found)


def _java_cause(throwable: JavaObject) -> Cause:
    names, kind = set(), throwable.getClass()
    while kind is not None:
        names.add(str(kind.getSimpleName()))
        kind = kind.getSuperclass()
    return _cause(
        frozenset(names),
        _asked(throwable, "getCondition"),
        _asked(throwable, "getSqlState") or "",
        str(throwable.getMessage() or ""),
    )


def _asked(throwable: JavaObject, method: str) -> str | None:
    """Ask what only some exceptions know."""
    try:
        answer = getattr(throwable, method)()
    except Py4JError:
        return None
    return None if answer is None else str(answer)


def _cause(kinds: frozenset[str], condition: str | None, sql_state: str, message: str) -> Cause:
    return Cause(
        kinds=kinds | frozenset(_JAVA_CLASS.findall(message)),
        conditions=frozenset(_CONDITION.findall(message)) | ({condition} if condition else set()),
        sql_state=sql_state,
        message=message,
    )


def _class_of(error: PenstockError) -> FailureClass:
    known = getattr(error, "failure", None)
    if isinstance(known, FailureClass):
        return known
    return next(
        (failure for prefix, failure in _CLASSES.items() if error.code.startswith(prefix)),
        FailureClass.UNKNOWN,
    )


# Of errors that other modules raise while a flow starts.
_CLASSES = {
    "PEN-1": FailureClass.CODE,
    "PEN-31": FailureClass.CODE,
    "PEN-32": FailureClass.CODE,
    "PEN-33": FailureClass.CODE,
    "PEN-340": FailureClass.STORAGE,
    "PEN-341": FailureClass.STORAGE,
    "PEN-342": FailureClass.STORAGE,
    "PEN-343": FailureClass.STORAGE,
    "PEN-344": FailureClass.CONFIGURATION,
    "PEN-345": FailureClass.CODE,
    "PEN-346": FailureClass.DATA,
    "PEN-36": FailureClass.CONFIGURATION,
    "PEN-37": FailureClass.CODE,
    "PEN-38": FailureClass.REGISTRY,
    "PEN-4": FailureClass.KAFKA,
    "PEN-0": FailureClass.CONFIGURATION,
    "PEN-6": FailureClass.CONFIGURATION,
    "PEN-7": FailureClass.REGISTRY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Which causes an error stands for. A condition ending in `*` is a prefix."""

    failure: FailureClass
    build: Callable[[str, Cause], PenstockError | None]
    """None: the cause only looks like it, and the next rules are asked."""

    conditions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    sql_state: str | None = None

    def fits(self, cause: Cause) -> bool:
        return (
            bool(cause.kinds.intersection(self.kinds))
            or (self.sql_state is not None and cause.sql_state.startswith(self.sql_state))
            or any(_matches(pattern, cause.conditions) for pattern in self.conditions)
        )


def _matches(pattern: str, conditions: frozenset[str]) -> bool:
    if pattern.endswith("*"):
        return any(condition.startswith(pattern[:-1]) for condition in conditions)
    return pattern in conditions


def _user_code(flow: str, cause: Cause) -> PenstockError | None:
    """Return the error at the user's line; None when no line of the user's is involved."""
    lines = cause.message.splitlines()
    frames = [
        (number, match) for number, line in enumerate(lines) if (match := _FRAME.search(line))
    ]
    users = [(number, match) for number, match in frames if _is_users(match[1])]
    if not users:
        return None
    number, frame = users[-1]
    origin = Origin(Path(frame[1]), int(frame[2]))
    return UserCodeError(flow, f"`{frame[3]}` raised {_raised(lines[number + 1 :])}", origin=origin)


def _is_users(file: str) -> bool:
    return not _LIBRARIES.search(file) and not file.startswith(_OURS)


def _raised(lines: Sequence[str]) -> str:
    """Return the line of a traceback that says what was raised: the first without indentation."""
    return next((line for line in lines if line and not line[0].isspace()), "an exception")


def _bad_data(flow: str, cause: Cause) -> PenstockError:
    place = _CALLED_FROM.search(cause.message)
    origin = Origin(Path(place[1]), int(place[2])) if place else None
    return BadDataError(flow, _headline(cause.message), origin=origin)


def _simply(kind: type[QueryFailedError]) -> Callable[[str, Cause], PenstockError]:
    def build(flow: str, cause: Cause) -> PenstockError:
        return kind(flow, _headline(cause.message))

    return build


def _unloadable(flow: str, cause: Cause) -> PenstockError:
    return QueryConfigurationError(flow, f"class `{_headline(cause.message)}` is not to be found")


def _storage(flow: str, cause: Cause) -> PenstockError | None:
    # A socket that times out is that of a Python worker more often than that of a file system.
    elsewhere = {"KafkaException", "SocketException", "ConnectException", "SocketTimeoutException"}
    if cause.kinds & elsewhere:
        return None
    place = _PATH.search(cause.message)
    kind = StorageRefusedError if is_refusal(cause.kinds, cause.message) else StorageFaultError
    return kind("use", place[0] if place else f"the checkpoint of {flow}", _headline(cause.message))


def _headline(message: str) -> str:
    """Return what Spark says, without its marks and without what follows for developers."""
    text = message.split("=== Streaming Query ===")[0].split("\nJVM stacktrace")[0]
    text = re.sub(r"\s*SQLSTATE: \w+", "", text)
    paragraph = " ".join(_sentences(text))
    return _CONDITION.sub("", paragraph, count=1).strip().rstrip(".") or "no reason is given"


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith(("==", "\tat ", '"', "Driver stacktrace")):
            return
        if line.strip():
            yield line.strip()


def _unknown_schema(flow: str, cause: Cause) -> PenstockError | None:
    unknown = unknown_in(cause.message)
    if unknown is None:
        return None
    return UnknownSchemaIdError(flow, schema_id=unknown.id, subject=unknown.subject)


def _lane(flow: str, cause: Cause) -> PenstockError | None:
    failure = failure_in(cause.message)
    if failure is None:
        return None
    kind = LaneFailedError if failure.retryable else LaneRefusedError
    if failure.code == LaneToBeKeptError.code:
        kind = LongBatchError
    return kind(flow, failure.message, hint=failure.hint)


_RULES = (
    _Rule(
        failure=FailureClass.KAFKA,
        build=_lane,
        conditions=("PYTHON_EXCEPTION", "FOREACH_BATCH_USER_FUNCTION_ERROR"),
        kinds=("PythonException",),
    ),
    _Rule(
        failure=FailureClass.REGISTRY,
        build=_unknown_schema,
        conditions=("USER_RAISED_EXCEPTION",),
    ),
    _Rule(
        failure=FailureClass.CODE,
        build=_user_code,
        conditions=("PYTHON_EXCEPTION", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER*"),
        kinds=("PythonException", "PythonDataSourceException"),
    ),
    _Rule(
        failure=FailureClass.CONFIGURATION,
        build=_simply(QueryConfigurationError),
        conditions=(
            "CANNOT_MODIFY_CONFIG",
            "DATA_SOURCE_NOT_FOUND",
            "INVALID_CONF*",
            "STREAMING_REAL_TIME_MODE*",
            "UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS",
        ),
        kinds=("ConfigException",),
    ),
    _Rule(
        failure=FailureClass.DATA,
        build=_simply(RecordsGoneError),
        conditions=("KAFKA_DATA_LOSS*",),
        kinds=("OffsetOutOfRangeException",),
    ),
    _Rule(
        failure=FailureClass.DATA,
        build=_bad_data,
        conditions=("KAFKA_MALFORMED_RECORD_TIMESTAMP", "MALFORMED_RECORD_IN_PARSING*"),
        sql_state="22",  # "data exception" in the SQL standard
    ),
    _Rule(
        failure=FailureClass.STORAGE,
        build=_simply(SecondWriterError),
        conditions=("CONCURRENT_STREAM_LOG_UPDATE", "CONCURRENT_QUERY"),
        kinds=("ConcurrentModificationException",),
    ),
    _Rule(
        failure=FailureClass.CODE,
        build=_simply(StateMismatchError),
        conditions=(
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
            "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
            "STATE_STORE_INVALID_*",
            "STATE_STORE_VALUE_SCHEMA_EVOLUTION*",
            "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
        ),
    ),
    _Rule(
        failure=FailureClass.STORAGE,
        build=_simply(StateDamagedError),
        conditions=(
            "CANNOT_LOAD_STATE_STORE*",
            "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        ),
    ),
    _Rule(
        failure=FailureClass.KAFKA,
        build=_simply(KafkaRefusedError),
        kinds=(
            "AuthenticationException",
            "AuthorizationException",
            "GroupAuthorizationException",
            "InvalidTopicException",
            "RecordTooLargeException",
            "SaslAuthenticationException",
            "SslAuthenticationException",
            "TopicAuthorizationException",
            "UnsupportedVersionException",
        ),
    ),
    _Rule(
        failure=FailureClass.CONFIGURATION,
        build=_unloadable,
        kinds=("ClassNotFoundException", "NoClassDefFoundError"),
    ),
    _Rule(
        failure=FailureClass.KAFKA,
        build=_simply(KafkaFaultError),
        kinds=("ApiException", "RetriableException", "UnknownTopicOrPartitionException"),
    ),
    _Rule(failure=FailureClass.KAFKA, build=_simply(KafkaFaultError), kinds=("KafkaException",)),
    _Rule(failure=FailureClass.STORAGE, build=_storage, kinds=("IOException", "FSError")),
    _Rule(failure=FailureClass.CODE, build=_simply(PlanRefusedError), kinds=("AnalysisException",)),
)
"""In this order: what is nearer to the user first, what is more general last."""
