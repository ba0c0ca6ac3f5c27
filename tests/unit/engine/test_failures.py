"""What the chains of causes that Spark gives mean to users."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engine.events import FailureClass
from penstock.engine.failures import Cause, explained
from penstock.errors import Origin

TRACEBACK = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most \
recent call last):
  File "/home/ann/shop/flows.py", line 70, in parse
    raise ValueError("no host in " + line)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3/site-packages/pandas/core.py", line 3, in inner
    return inner()
ValueError: no host in x
 SQLSTATE: 38000"""

IN_A_BATCH = """An error occurred in the user provided function in foreach batch sink. Reason: \
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
py4j.protocol.Py4JJavaError: org.apache.kafka.common.errors.TimeoutException: Topic x not present"""


def cause(
    *kinds: str, condition: str | None = None, sql_state: str = "", message: str = "it broke"
) -> Cause:
    return Cause(
        kinds=frozenset(kinds),
        conditions=frozenset({condition} if condition else ()),
        sql_state=sql_state,
        message=message,
    )


def test_a_users_exception_is_told_at_the_users_line() -> None:
    failure = explained("detect", [cause("PythonException", message=TRACEBACK)])
    assert failure.failure is FailureClass.CODE
    assert failure.error.message == "flow `detect`: `parse` raised ValueError: no host in x"
    assert failure.error.origin == Origin(Path("/home/ann/shop/flows.py"), 70)
    assert not failure.error.retryable


def test_a_bad_cast_is_told_at_the_line_of_the_cast() -> None:
    message = (
        '[CAST_INVALID_INPUT] The value \'x\' of the type "STRING" cannot be cast to "INT". '
        'SQLSTATE: 22018\n== DataFrame ==\n"cast" was called from\n/home/ann/shop/flows.py:9\n'
    )
    failure = explained("detect", [cause(sql_state="22018", message=message)])
    assert failure.failure is FailureClass.DATA
    assert failure.error.message == (
        'flow `detect`: The value \'x\' of the type "STRING" cannot be cast to "INT"'
    )
    assert failure.error.origin == Origin(Path("/home/ann/shop/flows.py"), 9)


# What Spark says, and what it is taken for.
CASES = (
    (cause(condition="KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"), "data", "PEN-349", True),
    (cause(condition="KAFKA_MALFORMED_RECORD_TIMESTAMP"), "data", "PEN-348", False),
    (cause("ArithmeticException", sql_state="22012"), "data", "PEN-348", False),
    (cause(condition="CONCURRENT_STREAM_LOG_UPDATE"), "storage", "PEN-350", False),
    (cause(condition="STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"), "user code", "PEN-351", False),
    (cause(condition="CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"), "storage", "PEN-352", False),
    (cause("TimeoutException", "RetriableException", "ApiException"), "kafka", "PEN-353", True),
    (cause("TopicAuthorizationException", "ApiException"), "kafka", "PEN-354", False),
    (cause("SaslAuthenticationException", "ApiException"), "kafka", "PEN-354", False),
    (cause("ClassNotFoundException", message="no.Such"), "configuration", "PEN-355", False),
    (cause("ConfigException", "KafkaException"), "configuration", "PEN-355", False),
    (cause(condition="STREAMING_REAL_TIME_MODE.SINK"), "configuration", "PEN-355", False),
    (cause(condition="INVALID_CONF_VALUE", sql_state="22022"), "configuration", "PEN-355", False),
    (cause("IOException", message="No space left on device"), "storage", "PEN-341", True),
    (cause("AccessControlException", "IOException"), "storage", "PEN-340", False),
    (cause("SocketTimeoutException", "IOException"), "unknown", "PEN-356", True),
    (cause("AnalysisException", message="no such column"), "user code", "PEN-357", False),
    (cause("OutOfMemoryError", message="Java heap space"), "unknown", "PEN-356", True),
)


@pytest.mark.parametrize(
    ("innermost", "failure", "code", "retryable"), CASES, ids=map(str, range(len(CASES)))
)
def test_failures_are_sorted_by_what_the_innermost_cause_is(
    innermost: Cause, failure: str, code: str, *, retryable: bool
) -> None:
    found = explained("detect", [cause("SparkException", message="Job aborted"), innermost])
    assert (found.failure, found.error.code) == (FailureClass(failure), code)
    assert found.error.retryable is retryable


def test_a_fault_of_kafka_inside_our_own_batch_function_is_not_the_users() -> None:
    inner = cause(
        "TimeoutException",
        "RetriableException",
        condition="FOREACH_BATCH_USER_FUNCTION_ERROR",
        message=IN_A_BATCH,
    )
    assert explained("detect", [inner]).error.code == "PEN-353"


def test_a_failure_without_any_cause_is_still_told() -> None:
    assert "Spark gives no reason" in explained("detect", []).error.message
