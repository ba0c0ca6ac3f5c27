"""The jar cache without Ivy: what is noticed, and what is said when nothing can be fetched.

`tests/integration/java` has the same cache with the real Ivy.
"""

import errno
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from penstock.java import (
    CacheDiskFullError,
    CacheNotWritableError,
    Coordinate,
    JarsNotFetchedError,
    JarState,
    Java,
    LockedJar,
    class_path,
    jar_states,
)
from penstock.java import ivy as ivy_module
from penstock.java.cache import ensure_locked
from penstock.settings import JavaSettings

if TYPE_CHECKING:
    from penstock.events import Event

COORDINATES = tuple(Coordinate("org.example", f"jar{number}", "1.0") for number in range(3))
JARS = tuple(LockedJar(jar, hashlib.sha256(str(jar).encode()).hexdigest()) for jar in COORDINATES)


@pytest.fixture
def settings(tmp_path: Path) -> JavaSettings:
    return JavaSettings(cache_dir=tmp_path / "cache", ivy_settings=None)


@pytest.fixture
def jars(settings: JavaSettings) -> list[Path]:
    """Three jars that are in the cache already."""
    paths = [settings.cache_dir / "jars" / jar.file for jar in COORDINATES]
    for path, jar in zip(paths, COORDINATES, strict=True):
        path.parent.mkdir(parents=True)
        path.write_text(str(jar))
    return paths


def java_that(script: str, folder: Path) -> Java:
    """Return a Java which runs `script` instead of Ivy, in Ivy's folder."""
    home = folder / "java"
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    return Java(executable=executable, home=home, major_version=17, source="test")


def test_a_warm_cache_starts_nothing_and_says_nothing(
    settings: JavaSettings, jars: list[Path], tmp_path: Path
) -> None:
    events: list[Event] = []
    java = java_that(f"touch {tmp_path}/started", tmp_path)

    assert ensure_locked(JARS, settings, events.append, java) == tuple(jars)

    assert events == []
    assert not (tmp_path / "started").exists()


def test_each_jar_is_verified_missing_or_damaged(settings: JavaSettings, jars: list[Path]) -> None:
    jars[1].unlink()
    jars[2].write_bytes(jars[2].read_bytes()[:-1])

    assert jar_states(JARS, settings) == (
        (COORDINATES[0], JarState.VERIFIED),
        (COORDINATES[1], JarState.MISSING),
        (COORDINATES[2], JarState.DAMAGED),
    )


def test_bytes_that_change_behind_an_unchanged_size_and_time_are_noticed(
    settings: JavaSettings, jars: list[Path]
) -> None:
    before = jars[0].stat()
    data = jars[0].read_bytes()
    jars[0].write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(jars[0], ns=(before.st_atime_ns, before.st_mtime_ns))

    assert jar_states(JARS[:1], settings) == ((COORDINATES[0], JarState.DAMAGED),)


def test_a_class_path_keeps_the_order_of_the_jars() -> None:
    assert class_path([Path("/b.jar"), Path("/a.jar")]) == "/b.jar:/a.jar"


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")

    with pytest.raises(CacheNotWritableError) as caught:
        ensure_locked(JARS, JavaSettings(cache_dir=occupied, ivy_settings=None))

    assert caught.value.message == (
        f"the cache folder `{occupied}` cannot be used: Not a directory (`{occupied}/jars`)"
    )


def test_a_full_disk_is_said_to_be_full_and_leaves_nothing_half_done(
    settings: JavaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_self: Path, _target: Path) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    make = "\n".join(
        f"mkdir -p jars/{jar.file.parent} && printf %s {jar} > jars/{jar.file}"
        for jar in COORDINATES
    )
    monkeypatch.setattr(Path, "replace", no_space)

    with pytest.raises(CacheDiskFullError) as caught:
        ensure_locked(JARS, settings, java=java_that(make, tmp_path))

    assert caught.value.cache_dir == settings.cache_dir
    assert list(settings.cache_dir.rglob("*.jar")) == []
    assert list((settings.cache_dir / "jars" / ".incoming").iterdir()) == []


def test_an_ivy_that_falls_silent_is_ended(
    settings: JavaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ivy_module, "SILENCE_LIMIT_SECONDS", 2)
    silent = java_that("echo resolving; exec sleep 60", tmp_path)

    with pytest.raises(JarsNotFetchedError) as caught:
        ensure_locked(JARS, settings, java=silent)

    assert caught.value.coordinates == tuple(str(jar) for jar in COORDINATES)
    assert "and 2 other jars could not be fetched: no answer for 2 s" in caught.value.message
    assert caught.value.log.read_text() == "resolving\n"


def test_what_ivy_claims_to_have_fetched_must_be_there(
    settings: JavaSettings, tmp_path: Path
) -> None:
    with pytest.raises(JarsNotFetchedError) as caught:
        ensure_locked(JARS[:1], settings, java=java_that("exit 0", tmp_path))

    assert caught.value.coordinates == (str(COORDINATES[0]),)
