"""How functions on arrays of Arrow are called in expressions of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyspark.sql.pandas.functions import arrow_udf

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def in_batches(
    function: Callable[[pa.Array], pa.Array], kind: DataType
) -> Callable[[Column], Column]:
    """Return `function` for columns; it is given whole batches, and gives back as many `kind`.

    Spark looks at its annotations: they are to be `pyarrow.Array`, imported where it is defined.
    """
    # The stubs ask for a third argument, for which Spark itself has a warning.
    udf = arrow_udf(function, kind)  # type: ignore[call-overload]
    return cast("Callable[[Column], Column]", udf)
