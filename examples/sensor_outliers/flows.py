"""Outliers: readings further than five standard deviations from the mean of their sensor.

Mean and deviation are running ones, of all readings of a sensor so far, in three numbers of state.
The reading itself counts among them. So the first 25 readings of a sensor never raise an alert:
none of so few numbers can be five deviations away from their mean.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

import penstock as ps

LIMIT = 5.0
"""In deviations. By Chebyshev's inequality at most 1/25 of any numbers are further away."""

ALERT = (
    "device_id string, sensor_type string, timestamp timestamp, value double, mean double,"
    " deviation double"
)

ps.topic(
    "readings",
    kafka_name="outliers.readings",
    value=ps.json("device_id string, timestamp timestamp, sensor_type string, value double"),
    key="device_id",  # so that readings of a sensor keep their order
    partitions=4,
    description="what sensors measure",
)
ps.topic(
    "alerts",
    kafka_name="outliers.alerts",
    value=ps.json(ALERT),
    key="device_id",
    partitions=4,
    description="readings far from the mean of their sensor",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The readings of a sensor so far: how many, their mean, and the squares of their distances."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.squares / self.count)

    def with_reading(self, value: float) -> "Seen":
        """Return what is known after one more reading.

        This is Welford's way: sums of squares would lose their digits where values are large.
        """
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        squares = self.squares + (value - self.mean) * (value - mean)
        return Seen(count, mean, squares)

    def is_outlier(self, value: float) -> bool:
        """Tell whether one of the readings is far from their mean."""
        return abs(value - self.mean) > LIMIT * self.deviation


class Outliers(StatefulProcessor):
    """Judges the readings of each sensor."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._seen = handle.getValueState("seen", "count bigint, mean double, squares double")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[str, str],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803 - Spark gives it by this name
    ) -> Iterator[Row]:
        """Return the outliers of this batch."""
        device_id, sensor_type = key
        seen = Seen(*(self._seen.get() or ()))
        # A shuffle brought the rows here, and promises no order.
        for row in sorted(rows, key=lambda row: row.offset):
            seen = seen.with_reading(row.value)
            if seen.is_outlier(row.value):
                yield Row(
                    device_id=device_id,
                    sensor_type=sensor_type,
                    timestamp=row.timestamp,
                    value=row.value,
                    mean=seen.mean,
                    deviation=seen.deviation,
                )
        self._seen.update((seen.count, seen.mean, seen.squares))


@ps.flow(into="alerts")
def find_outliers(readings: DataFrame) -> DataFrame:
    """Readings more than five standard deviations from the mean of their sensor."""
    return (
        # Spark sorts NaN above infinity: one of either would be in the mean for ever.
        readings.where("abs(value) < double('Infinity')")
        .select(
            "device_id",
            "sensor_type",
            "timestamp",
            "value",
            F.col("_record.offset").alias("offset"),
        )
        .groupBy("device_id", "sensor_type")
        .transformWithState(Outliers(), ALERT, outputMode="append", timeMode="none")
    )
