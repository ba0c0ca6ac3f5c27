"""What a platform or a pipeline needs from this machine, checked one thing at a time.

Each check looks and changes nothing. Most are functions of what was observed, so that a test can
give them any machine; `examine` observes this one.
"""

import os
import platform as python_platform
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import psutil

from penstock.errors import PenstockError
from penstock.java import JarSet, JarState, find_java, free_bytes, jar_states, load_lock
from penstock.kafka import Admin, Connection
from penstock.local.broker import new_shape
from penstock.local.control import BrokerState
from penstock.local.platform import DEFAULT_PORT, Platform, PlatformStatus
from penstock.local.ports import holder_of, is_free
from penstock.local.preflight import NotEnoughDiskError, NotEnoughMemoryError
from penstock.local.preflight import check_disk as require_disk
from penstock.local.preflight import check_memory as require_memory
from penstock.settings import JavaSettings, PlatformSettings, Settings

ROOMY_DISK_BYTES = 2_000_000_000
"""Below this, a day of playing with records fills the disk; brokers stop when it is full."""

JAR_BYTES = 100_000_000
"""The Kafka jars take 45 MB, and as much again while they are fetched."""

ENOUGH_OPEN_FILES = 4096
"""A broker holds three files for each segment and one for each connection."""

_CGROUP = Path("/sys/fs/cgroup")


class Level(StrEnum):
    """How a check went."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the report. The hint says what to do, and is empty when all is well."""

    name: str
    level: Level
    found: str
    hint: str = ""


def examine(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Check this machine and the configured cluster; each result comes as soon as it is known."""
    local = Platform(settings.platform)
    checks: Sequence[tuple[str, Callable[[], Check]]] = (
        ("python", python),
        ("java", lambda: java(settings.java, environ)),
        ("jars", lambda: jars(settings.java)),
        ("memory", lambda: memory(available_bytes(), settings.platform, local.status())),
        ("data disk", lambda: data_disk(settings.platform.data_dir)),
        ("cache disk", lambda: cache_disk(settings.java.cache_dir)),
        ("open files", lambda: open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[1])),
        ("ports", lambda: ports(settings.platform, local)),
        ("clock", lambda: clock(datetime.now(UTC), installed_at())),
        ("cluster", lambda: cluster(settings, local)),
    )
    for name, check in checks:
        try:
            yield check()
        except PenstockError as err:
            yield Check(name=name, level=Level.PROBLEM, found=err.message, hint=err.hint)


def python() -> Check:
    """Say which Python runs; that it is new enough was checked when Penstock was installed."""
    found = f"Python {python_platform.python_version()} at {sys.executable}"
    return Check(name="python", level=Level.OK, found=found)


def java(settings: JavaSettings, environ: Mapping[str, str]) -> Check:
    """Say which Java runs Kafka and Spark, and warn when another was chosen but cannot be used."""
    chosen = find_java(environ, cache_dir=settings.cache_dir)
    found = f"Java {chosen.major_version} from {chosen.source}"
    if not chosen.passed_over:
        return Check(name="java", level=Level.OK, found=found)
    unsuitable = "; ".join(f"{item.place}: {item.reason}" for item in chosen.passed_over)
    return Check(
        name="java",
        level=Level.WARNING,
        found=f"{found}; passed over {unsuitable}",
        hint="set `JAVA_HOME` to a Java 17 or 21, or unset it",
    )


def jars(settings: JavaSettings) -> Check:
    """Compare the cached Kafka jars with the lock."""
    locked = (*load_lock(JarSet.KAFKA), *load_lock(JarSet.EXPORTER))
    states = [state for _, state in jar_states(locked, settings)]
    damaged, missing = states.count(JarState.DAMAGED), states.count(JarState.MISSING)
    if not damaged and not missing:
        found = f"{len(states)} Kafka jars verified in {settings.cache_dir}"
        return Check(name="jars", level=Level.OK, found=found)
    if settings.ivy_settings is not None and not settings.ivy_settings.is_file():
        return Check(
            name="jars",
            level=Level.PROBLEM,
            found=f"{missing + damaged} Kafka jars must be fetched, and `java.ivy_settings` "
            f"names `{settings.ivy_settings}`, which does not exist",
            hint="correct `java.ivy_settings`; `penstock config show` says where it was set",
        )
    counts = [f"{missing} missing"] * bool(missing) + [f"{damaged} damaged"] * bool(damaged)
    return Check(
        name="jars",
        level=Level.WARNING,
        found=f"of {len(states)} Kafka jars {' and '.join(counts)} in {settings.cache_dir}",
        hint="`penstock up` fetches them; that needs the network once",
    )


def memory(available: int, settings: PlatformSettings, status: PlatformStatus) -> Check:
    """Compare the memory that is available with what 1 and 3 brokers take."""
    found = f"{_gigabytes(available)} available"
    if status.running:
        return Check(name="memory", level=Level.OK, found=f"{found} beside the running platform")
    try:
        _require_memory(1, available, settings)
    except NotEnoughMemoryError as err:
        return Check(name="memory", level=Level.PROBLEM, found=err.message, hint=err.hint)
    try:
        _require_memory(3, available, settings)
    except NotEnoughMemoryError as err:
        level = Level.PROBLEM if settings.brokers > 1 else Level.WARNING
        found = f"{found}, enough for 1 broker; {err.message}"
        return Check(name="memory", level=level, found=found, hint=err.hint)
    return Check(name="memory", level=Level.OK, found=f"{found}, enough for 3 brokers")


def _require_memory(brokers: int, available: int, settings: PlatformSettings) -> None:
    shape = new_shape(brokers=brokers, heap_mb=settings.heap_mb, ports=range(1, 10))
    require_memory(shape, available_mb=available // 1_000_000)


def data_disk(folder: Path) -> Check:
    """Check that brokers can write below `folder`, and for how long roughly."""
    free = free_bytes(folder)
    if not _writable(folder):
        return _not_writable("data disk", folder, setting="platform.data_dir")
    try:
        require_disk(
            new_shape(brokers=3, heap_mb=128, ports=range(1, 10)),
            folder,
            free_mb=free // 1_000_000,
        )
    except NotEnoughDiskError as err:
        return Check(name="data disk", level=Level.PROBLEM, found=err.message, hint=err.hint)
    found = f"{_gigabytes(free)} free at {folder}"
    if free < ROOMY_DISK_BYTES:
        hint = "free space there, or set `platform.data_dir`: brokers stop when the disk is full"
        return Check(name="data disk", level=Level.WARNING, found=found, hint=hint)
    return Check(name="data disk", level=Level.OK, found=found)


def cache_disk(folder: Path) -> Check:
    """Check that jars can be put below `folder`."""
    free = free_bytes(folder)
    if not _writable(folder):
        return _not_writable("cache disk", folder, setting="java.cache_dir")
    found = f"{_gigabytes(free)} free at {folder}"
    if free < JAR_BYTES:
        hint = "free space there, or set `java.cache_dir`: fetching jars takes 100 MB"
        return Check(name="cache disk", level=Level.PROBLEM, found=found, hint=hint)
    return Check(name="cache disk", level=Level.OK, found=found)


def open_files(hard_limit: int) -> Check:
    """Check how many files a broker may hold; Java raises its own limit up to the hard one."""
    if hard_limit == resource.RLIM_INFINITY:
        return Check(name="open files", level=Level.OK, found="no limit")
    found = f"at most {hard_limit} for each process"
    if hard_limit >= ENOUGH_OPEN_FILES:
        return Check(name="open files", level=Level.OK, found=found)
    hint = f"raise it to {ENOUGH_OPEN_FILES} or more: `ulimit -Hn` shows it, the system sets it"
    return Check(name="open files", level=Level.WARNING, found=found, hint=hint)


def ports(settings: PlatformSettings, local: Platform) -> Check:
    """Check that the platform can listen where it would."""
    status = local.status()
    if status.running:
        found = f"the platform `{status.name}` listens at {status.bootstrap}"
        return Check(name="ports", level=Level.OK, found=found)
    if any(broker.state is BrokerState.ORPHANED for broker in status.brokers):
        return Check(
            name="ports",
            level=Level.WARNING,
            found=f"brokers of the platform `{status.name}` run without their supervisor",
            hint="`penstock down` ends them, `penstock up` starts afresh",
        )
    if status.brokers:
        return _held([broker.port for broker in status.brokers], Level.PROBLEM)
    if settings.port == 0:
        return Check(name="ports", level=Level.OK, found="any that are free, as configured")
    first = settings.port or DEFAULT_PORT
    # Nobody asked for the default ports, so `penstock up` takes others when these are held.
    level = Level.WARNING if settings.port is None else Level.PROBLEM
    return _held(range(first, first + 2 * settings.brokers), level)


def _held(wanted: Sequence[int], level: Level) -> Check:
    names = ", ".join(str(port) for port in wanted)
    held = [port for port in wanted if not is_free(port)]
    if not held:
        return Check(name="ports", level=Level.OK, found=f"{names} free")
    found = "; ".join(f"port {port} is held by {holder_of(port)}" for port in held)
    hint = (
        "`penstock up` will take other ports; `penstock platform status` shows which"
        if level is Level.WARNING
        else "stop that process, or choose others: `penstock up --port 0` takes free ones"
    )
    return Check(name="ports", level=level, found=found, hint=hint)


def clock(now: datetime, installed: datetime) -> Check:
    """Check that the clock has not fallen behind: retention and certificates go by it."""
    found = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    if now >= installed and now.year < 2100:
        return Check(name="clock", level=Level.OK, found=found)
    return Check(
        name="clock",
        level=Level.PROBLEM,
        found=f"{found}, while Penstock was installed {installed:%Y-%m-%d %H:%M:%S} UTC",
        hint="set the clock, or switch on its synchronization: `timedatectl set-ntp true`",
    )


def cluster(settings: Settings, local: Platform) -> Check:
    """Ask the configured cluster, or the local platform, for its brokers."""
    if settings.cluster.bootstrap is not None:
        return _answering(settings, settings.cluster.bootstrap)
    status = local.status()
    if not status.running or status.bootstrap is None:
        return Check(
            name="cluster",
            level=Level.WARNING,
            found=f"the local platform `{status.name}` is not running",
            hint="`penstock up` starts it; `--bootstrap HOST:PORT` checks another cluster",
        )
    answer = _answering(settings, status.bootstrap)
    running = sum(broker.state is BrokerState.RUNNING for broker in status.brokers)
    if running == len(status.brokers):
        return answer
    return replace(
        answer,
        level=Level.WARNING,
        found=f"{running} of {len(status.brokers)} brokers run; {answer.found}",
        hint="`penstock platform status` says why",
    )


def _answering(settings: Settings, bootstrap: str) -> Check:
    started = time.monotonic()
    with Admin(Connection(bootstrap=bootstrap, security=settings.cluster)) as admin:
        count = len(admin.metadata().brokers)
    took = (time.monotonic() - started) * 1000
    brokers = f"{count} broker{'s' if count != 1 else ''}"
    found = f"{brokers} at {bootstrap}, answered in {took:.0f} ms"
    return Check(name="cluster", level=Level.OK, found=found)


def available_bytes() -> int:
    """Return the memory this process and its children may still take, in a container too."""
    available = int(psutil.virtual_memory().available)
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        fields = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        # No container, or one without a limit, which writes "max".
        return available
    # What files fill can be taken back at once.
    return min(available, limit - used + int(fields.get("inactive_file", 0)))


def installed_at() -> datetime:
    """Return when the files of this package were written: the clock was past that once."""
    return datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC)


def _writable(folder: Path) -> bool:
    """Return whether `folder` can be written, or made where it is missing."""
    existing = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _not_writable(name: str, folder: Path, *, setting: str) -> Check:
    return Check(
        name=name,
        level=Level.PROBLEM,
        found=f"`{folder}` cannot be written",
        hint=f"make it writable, or set `{setting}` to another folder",
    )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
