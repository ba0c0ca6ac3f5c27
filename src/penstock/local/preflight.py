"""What must be true of this machine before brokers are started."""

import shutil
from pathlib import Path

import psutil

from penstock.errors import PenstockError
from penstock.local.broker import KAFKA_VERSION, ClusterShape
from penstock.local.folder import PlatformFolder
from penstock.local.ports import require_free

_OVERHEAD_MB = 140
"""What a broker takes beside its heap: metaspace, threads, buffers (measured: about 110 MB)."""

_DISK_MB = 200
"""Room for the logs and the metadata of one broker; records come on top."""


class NotEnoughMemoryError(PenstockError):
    """The machine has less free memory than the brokers would take."""

    code = "PEN-505"

    def __init__(self, *, needed_mb: int, available_mb: int, brokers: int) -> None:
        super().__init__(
            f"{brokers} broker(s) need about {needed_mb} MB of memory, {available_mb} MB are free",
            hint="stop other programs, use fewer brokers, or lower `platform.heap_mb`",
        )


class NotEnoughDiskError(PenstockError):
    """The disk of the data folder is as good as full."""

    code = "PEN-506"

    def __init__(self, folder: Path, *, needed_mb: int, free_mb: int) -> None:
        super().__init__(
            f"the disk of `{folder}` has {free_mb} MB free, the platform needs {needed_mb} MB",
            hint="free space there, or set `platform.data_dir` to a folder on another disk",
        )


class NewerDataError(PenstockError):
    """The data of a platform was written by a newer Kafka than the one at hand."""

    code = "PEN-507"

    def __init__(self, folder: Path, *, found: str) -> None:
        super().__init__(
            f"`{folder}` was written by Kafka {found}; this is Kafka {KAFKA_VERSION}",
            hint="install the newer Penstock again, or `penstock down --delete-data` to start over",
        )


def check_machine(shape: ClusterShape, folder: PlatformFolder) -> None:
    """Check version, ports, memory and disk, in that order.

    Raises:
        PenstockError: the class that fits the first obstacle.
    """
    check_version(shape, folder.root)
    require_free(shape.ports)
    check_memory(shape, available_mb=psutil.virtual_memory().available // 1_000_000)
    check_disk(shape, folder.root, free_mb=shutil.disk_usage(folder.root).free // 1_000_000)


def check_version(shape: ClusterShape, folder: Path) -> None:
    """Check that this Kafka can read the data."""
    if _as_numbers(shape.kafka_version) > _as_numbers(KAFKA_VERSION):
        raise NewerDataError(folder, found=shape.kafka_version)


def check_memory(shape: ClusterShape, *, available_mb: int) -> None:
    """Check that the brokers fit into what is available."""
    needed = len(shape.brokers) * (shape.heap_mb + _OVERHEAD_MB)
    if needed > available_mb:
        raise NotEnoughMemoryError(
            needed_mb=needed, available_mb=available_mb, brokers=len(shape.brokers)
        )


def check_disk(shape: ClusterShape, folder: Path, *, free_mb: int) -> None:
    """Check that there is room for what the brokers write at once."""
    needed = len(shape.brokers) * _DISK_MB
    if needed > free_mb:
        raise NotEnoughDiskError(folder, needed_mb=needed, free_mb=free_mb)


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
