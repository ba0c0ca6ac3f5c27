"""The line of a call in the user's function, and Spark's messages as one sentence."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.engine.user_lines import hint, line_of_call, reason
from penstock.errors import Origin


def flow(orders: DataFrame, payments: DataFrame) -> DataFrame:
    ids = orders.select("id")
    return (
        ids.distinct()
        .join(payments, "id")
        .distinct()
    )  # fmt: skip


def line(offset: int) -> Origin:
    return Origin(Path(__file__), flow.__code__.co_firstlineno + offset)


def test_the_line_of_a_call_is_that_of_its_name_in_a_chain() -> None:
    assert line_of_call(flow, {"join"}) == line(4)


def test_of_several_calls_the_last_is_taken() -> None:
    assert line_of_call(flow, ("distinct",)) == line(5)


def test_a_call_that_is_not_there_has_no_line() -> None:
    assert line_of_call(flow, ("sort",)) is None


def test_functions_without_a_source_have_no_lines() -> None:
    names: dict[str, Any] = {}
    exec("def made(orders): return orders.sort('id')", names)  # noqa: S102 - nothing else has no file

    assert line_of_call(names["made"], ("sort",)) is None


class _Unknown(PySparkException):
    """What Spark raises for an unknown column, without a JVM to raise it."""

    def __init__(self, name: str, proposal: str) -> None:
        super().__init__(message="a column cannot be resolved")
        self._parameters = {"objectName": name, "proposal": proposal}

    def getCondition(self) -> str:  # noqa: N802 - Spark's name
        return "UNRESOLVED_COLUMN.WITH_SUGGESTION"

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return self._parameters


@pytest.mark.parametrize(
    ("proposal", "expected"),
    [
        ("`host`, `at`", "did you mean `host`?"),
        ("`n`, `at`", "there are: `n`, `at`"),
        ("`orders`.`hosts`, `at`", "there are: `orders.hosts`, `at`"),
    ],
)
def test_an_unknown_column_comes_with_the_nearest_one(proposal: str, expected: str) -> None:
    err = _Unknown("`hosst`", proposal)

    assert reason(err) == "there is no column `hosst`"
    assert hint(err) == expected
