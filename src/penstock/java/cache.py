"""The jars on this machine: verified on every use, fetched when one is missing or damaged.

Every file below `<cache>/jars` is complete: jars are fetched into a folder of their own, verified
there and renamed into place. One process fetches at a time, the others wait and then find what
they need. A process that dies leaves at most such a folder, which the next one removes.

All jars are read on every call. That is the only check which notices any change, and it costs less
than starting Python (`bench/jars.py`); nothing else is touched, neither network nor JVM.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from uuid import uuid4

import psutil

from penstock.events import Emit, StepFinished, StepProgressed, StepStarted, ignore
from penstock.java.coordinates import Coordinate, JarSet, LockedJar, load_lock
from penstock.java.errors import CacheDiskFullError, ChecksumMismatchError, JarsNotFetchedError
from penstock.java.faults import cache_faults, free_bytes
from penstock.java.ivy import PID_FILE, IvyRun, fetch
from penstock.java.runtime import Java, find_java
from penstock.settings import JavaSettings

FETCHING = "fetching jars"
WAITING = "waiting for another process to fetch jars"

_FULL_BELOW_BYTES = 10_000_000
"""Larger than any jar: with less, a failed download is taken for a lack of room."""


class JarState(StrEnum):
    """What the cache has for a jar of the lock."""

    VERIFIED = "verified"
    MISSING = "missing"
    DAMAGED = "damaged"


def ensure_jars(
    jar_set: JarSet, settings: JavaSettings, emit: Emit = ignore, java: Java | None = None
) -> tuple[Path, ...]:
    """Return the verified jars of `jar_set` in the order of the lock, fetching what is needed.

    Args:
        jar_set: which jars.
        settings: where they are kept, and how Ivy reaches a repository.
        emit: is told about fetching and waiting; about nothing when all is there.
        java: runs Ivy; found when needed and not given.

    Raises:
        JarsNotFetchedError: a jar is needed and cannot be had.
        ChecksumMismatchError: a fetched jar has other bytes than the lock says.
        CacheNotWritableError: the cache folder cannot be used.
        CacheDiskFullError: there is no room for the jars.
        NoJavaError: something must be fetched, and there is no Java to run Ivy with.
    """
    return ensure_locked(load_lock(jar_set), settings, emit, java)


def ensure_locked(
    jars: Sequence[LockedJar],
    settings: JavaSettings,
    emit: Emit = ignore,
    java: Java | None = None,
) -> tuple[Path, ...]:
    """Do what `ensure_jars` does, for the jars of any lock."""
    folder = jar_folder(settings)
    if _needed(jars, folder):
        with cache_faults(settings.cache_dir), _alone(folder, emit):
            # Whoever was fetching until now may have brought everything.
            needed = _needed(jars, folder)
            if needed:
                _fetch(needed, settings, emit, java or find_java(cache_dir=settings.cache_dir))
    return tuple(folder / jar.coordinate.file for jar in jars)


def jar_states(
    jars: Sequence[LockedJar], settings: JavaSettings
) -> tuple[tuple[Coordinate, JarState], ...]:
    """Return what the cache has for each of `jars`; reads them, changes nothing."""
    states = _states(jars, jar_folder(settings))
    return tuple(zip((jar.coordinate for jar in jars), states, strict=True))


def class_path(jars: Sequence[Path]) -> str:
    """Return `jars` as the value of Java's `-cp`."""
    return os.pathsep.join(str(jar) for jar in jars)


def jar_folder(settings: JavaSettings) -> Path:
    """Return the folder below which all jars lie."""
    return settings.cache_dir.absolute() / "jars"


def _needed(jars: Sequence[LockedJar], folder: Path) -> list[LockedJar]:
    states = _states(jars, folder)
    return [jar for jar, state in zip(jars, states, strict=True) if state is not JarState.VERIFIED]


def _states(jars: Sequence[LockedJar], folder: Path) -> list[JarState]:
    # Hashing lets go of the interpreter, so threads use all cores.
    with ThreadPoolExecutor(max_workers=4) as pool:
        states = pool.map(lambda jar: _state(folder / jar.coordinate.file, jar.sha256), jars)
        return list(states)


def _state(path: Path, sha256: str) -> JarState:
    try:
        return JarState.VERIFIED if _sha256(path) == sha256 else JarState.DAMAGED
    except FileNotFoundError:
        return JarState.MISSING
    except OSError:
        # Unreadable is as good as damaged: a rename puts a readable file in its place.
        return JarState.DAMAGED


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(folder: Path, emit: Emit) -> Iterator[None]:
    """Hold the lock of the cache; the system lets go of it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            emit(StepStarted(step=WAITING))
            fcntl.flock(file, fcntl.LOCK_EX)
            emit(StepFinished(step=WAITING))
        yield


def _fetch(needed: Sequence[LockedJar], settings: JavaSettings, emit: Emit, java: Java) -> None:
    folder = jar_folder(settings)
    emit(StepStarted(step=FETCHING))
    with _incoming(folder) as incoming:
        run = IvyRun(
            java=java,
            folder=incoming,
            log=folder / "ivy.log",
            settings_file=settings.ivy_settings,
        )
        try:
            fetch(run, [jar.coordinate for jar in needed], _counter(emit, len(needed)))
        except JarsNotFetchedError as err:
            free = free_bytes(folder)
            if free < _FULL_BELOW_BYTES:
                raise CacheDiskFullError(settings.cache_dir, free_bytes=free) from err
            raise
        size = _install(needed, run, folder)
    emit(StepFinished(step=FETCHING, detail=f"{len(needed)} jars, {size / 1e6:.1f} MB"))


def _counter(emit: Emit, total: int) -> Callable[[int], None]:
    return lambda done: emit(StepProgressed(step=FETCHING, done=done, total=total))


def _install(needed: Sequence[LockedJar], run: IvyRun, folder: Path) -> int:
    """Verify all that was fetched, then rename it into place; return the number of bytes."""
    absent = [
        str(jar.coordinate) for jar in needed if not (run.jars / jar.coordinate.file).exists()
    ]
    if absent:
        raise JarsNotFetchedError(absent, reason="the repository has no such jar", log=run.log)
    for jar in needed:
        found = _sha256(run.jars / jar.coordinate.file)
        if found != jar.sha256:
            raise ChecksumMismatchError(str(jar.coordinate), expected=jar.sha256, found=found)
    size = 0
    for jar in needed:
        fetched, place = run.jars / jar.coordinate.file, folder / jar.coordinate.file
        size += fetched.stat().st_size
        place.parent.mkdir(parents=True, exist_ok=True)
        fetched.replace(place)
    return size


@contextmanager
def _incoming(folder: Path) -> Iterator[Path]:
    """Give a fresh folder to fetch into, gone afterwards like all that dead processes left."""
    parent = folder / ".incoming"
    for leftover in parent.glob("*"):
        _end_orphan(leftover)
        shutil.rmtree(leftover, ignore_errors=True)
    incoming = parent / uuid4().hex
    incoming.mkdir(parents=True)
    try:
        yield incoming
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def _end_orphan(leftover: Path) -> None:
    """End an Ivy whose starter was killed: it would go on writing to a folder that is removed."""
    try:
        process = psutil.Process(int((leftover / PID_FILE).read_text()))
        # The number may belong to somebody else by now; the folder's name is unique.
        if any(leftover.name in argument for argument in process.cmdline()):
            process.kill()
            # Where nobody reaps orphans the dead process stays in the table: do not wait for long.
            process.wait(timeout=2)
    except (OSError, ValueError, psutil.Error):
        return
