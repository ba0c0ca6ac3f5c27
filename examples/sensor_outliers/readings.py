"""Prints readings as JSON lines: 10,000 of 20 sensors, of which 50 are spikes."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

DEVICES = 10
READINGS = 500
"""Of each sensor, one a second."""

LEVELS = {"temperature": (20.0, 0.5), "vibration": (3.0, 0.1)}
"""Mean and standard deviation of what the sensors of a type measure."""

SPIKE = 25.0
"""How many standard deviations a spike is away."""


def readings(start: datetime) -> Iterator[dict[str, object]]:
    """Return the readings in the order of time; the same numbers in every call."""
    dice = random.Random(5)  # noqa: S311 - these are no secrets
    for second in range(READINGS):
        for device in range(DEVICES):
            for number, (sensor_type, (mean, deviation)) in enumerate(LEVELS.items()):
                distance = SPIKE if is_spike(second, device, number) else dice.gauss()
                yield {
                    "device_id": f"device-{device}",
                    "timestamp": (start + timedelta(seconds=second)).isoformat(),
                    "sensor_type": sensor_type,
                    "value": round(mean + distance * deviation, 4),
                }


def is_spike(second: int, device: int, sensor: int) -> bool:
    """Tell where the spikes are: five in each vibration sensor, after a quiet beginning."""
    return sensor == 1 and second >= READINGS // 2 and (second + device) % (READINGS // 10) == 0


if __name__ == "__main__":
    for reading in readings(datetime.now(UTC)):
        print(json.dumps(reading))
