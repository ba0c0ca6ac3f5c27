"""The machine and the versions that a result was measured with."""

import os
import platform
from importlib.metadata import version

import psutil


def describe_machine() -> str:
    """Return the line that stands above every result."""
    memory_gb = psutil.virtual_memory().total / 1e9
    packages = " ".join(f"{name} {version(name)}" for name in ("confluent-kafka", "pyspark"))
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, "
        f"load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, {packages}"
    )
