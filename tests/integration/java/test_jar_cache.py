"""The jar cache with the real Ivy, against a repository on this machine."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from penstock.events import Event, StepFinished, StepProgressed, StepStarted
from penstock.java import ChecksumMismatchError, IvySettingsNotFoundError, JarsNotFetchedError
from penstock.java.cache import FETCHING, WAITING, ensure_locked
from penstock.settings import JavaSettings
from support.jar_repository import COORDINATES, JarRepository, serving, settings_text, write_lock
from support.waiting import eventually

# What another process runs: fetch the jars of a lock and print the steps that are started.
FETCH = """
import sys
from pathlib import Path
from penstock.events import StepStarted
from penstock.java import JarSet, load_lock
from penstock.java.cache import ensure_locked
from penstock.settings import JavaSettings

cache, ivy_settings, lock = map(Path, sys.argv[1:])
def emit(event):
    if isinstance(event, StepStarted):
        print(event.step, flush=True)
settings = JavaSettings(cache_dir=cache, ivy_settings=ivy_settings)
ensure_locked(load_lock(JarSet.KAFKA, lock), settings, emit)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[JarRepository]:
    with serving(tmp_path) as repository:
        yield repository


@pytest.fixture
def settings(tmp_path: Path, repository: JarRepository) -> JavaSettings:
    """A cold cache. Its name has the characters that mean something in Ivy's patterns."""
    return JavaSettings(cache_dir=tmp_path / "cache [a] (b)", ivy_settings=repository.settings_file)


def start_fetching(settings: JavaSettings, lock: Path) -> subprocess.Popen[str]:
    arguments = [settings.cache_dir, settings.ivy_settings, lock]
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def files(cache_dir: Path) -> list[str]:
    """Return every file in the cache but the log and the lock."""
    found = (str(path.relative_to(cache_dir)) for path in cache_dir.rglob("*") if path.is_file())
    return sorted(set(found) - {"jars/ivy.log", "jars/.lock"})


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


ALL_FILES = sorted(f"jars/{jar.file}" for jar in COORDINATES)


def test_a_cold_cache_is_filled_from_the_mirror_of_the_settings_file(
    repository: JarRepository, settings: JavaSettings
) -> None:
    events: list[Event] = []

    jars = ensure_locked(repository.lock(), settings, events.append)

    assert jars == tuple(settings.cache_dir / "jars" / jar.file for jar in COORDINATES)
    assert [path.read_bytes() for path in jars] == list(repository.jars.values())
    assert repository.fetched == list(repository.jars)
    assert files(settings.cache_dir) == ALL_FILES
    size = sum(map(len, repository.jars.values())) / 1e6
    assert events == [
        StepStarted(step=FETCHING),
        StepProgressed(step=FETCHING, done=1, total=2),
        StepProgressed(step=FETCHING, done=2, total=2),
        StepFinished(step=FETCHING, detail=f"2 jars, {size:.1f} MB"),
    ]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:-1], id="truncated"),
        pytest.param(lambda data: bytes([data[0] ^ 1]) + data[1:], id="flipped bit"),
        pytest.param(lambda _: b"something else", id="replaced"),
        pytest.param(lambda _: b"", id="emptied"),
    ],
)
def test_only_the_damaged_jar_is_fetched_again(
    repository: JarRepository, settings: JavaSettings, damage: Callable[[bytes], bytes]
) -> None:
    jars = ensure_locked(repository.lock(), settings)
    jars[1].write_bytes(damage(jars[1].read_bytes()))
    repository.fetched.clear()

    ensure_locked(repository.lock(), settings)

    assert repository.fetched == [repository.path(1)]
    assert [path.read_bytes() for path in jars] == list(repository.jars.values())


def test_a_warm_cache_needs_no_network_and_a_cold_one_says_what_is_missing(
    repository: JarRepository, settings: JavaSettings, tmp_path: Path
) -> None:
    jars = ensure_locked(repository.lock(), settings)
    dead = tmp_path / "dead.xml"
    dead.write_text(settings_text(root="http://127.0.0.1:1/"))  # nothing listens there
    offline = replace(settings, ivy_settings=dead)

    assert ensure_locked(repository.lock(), offline) == jars

    jars[0].unlink()
    with pytest.raises(JarsNotFetchedError) as caught:
        ensure_locked(repository.lock(), offline)
    log = settings.cache_dir / "jars" / "ivy.log"
    assert caught.value.coordinates == (str(COORDINATES[0]),)
    assert caught.value.message == (
        f"`{COORDINATES[0]}` could not be fetched: `127.0.0.1:1` answered "
        f"java.net.ConnectException: Connection refused (Ivy's output: `{log}`)"
    )
    assert "UNRESOLVED" in log.read_text()


def test_a_coordinate_that_no_repository_has_is_named_and_nothing_is_installed(
    repository: JarRepository, settings: JavaSettings
) -> None:
    lock = repository.lock()
    del repository.jars[repository.path(1)]

    with pytest.raises(JarsNotFetchedError) as caught:
        ensure_locked(lock, settings)

    assert caught.value.coordinates == (str(COORDINATES[1]),)
    assert "not found" in caught.value.message
    assert files(settings.cache_dir) == []


def test_a_jar_with_other_bytes_than_the_lock_says_is_refused_and_nothing_is_installed(
    repository: JarRepository, settings: JavaSettings
) -> None:
    first, second = repository.lock()
    expected = "0" * 64

    with pytest.raises(ChecksumMismatchError) as caught:
        ensure_locked([first, replace(second, sha256=expected)], settings)

    fault = caught.value
    assert (fault.coordinate, fault.expected, fault.found) == (
        str(COORDINATES[1]),
        expected,
        second.sha256,
    )
    assert files(settings.cache_dir) == []


def test_the_proxy_of_the_environment_is_used(
    repository: JarRepository,
    settings: JavaSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The repository's server plays the proxy: the host of the mirror exists for it alone."""
    behind = tmp_path / "behind.xml"
    behind.write_text(settings_text(root="http://mirror.invalid/"))
    monkeypatch.setenv("http_proxy", repository.address)

    ensure_locked(repository.lock(), replace(settings, ivy_settings=behind))

    assert repository.fetched == list(repository.jars)
    assert files(settings.cache_dir) == ALL_FILES


def test_a_settings_file_that_does_not_exist_is_a_usage_error(
    repository: JarRepository, settings: JavaSettings, tmp_path: Path
) -> None:
    with pytest.raises(IvySettingsNotFoundError) as caught:
        ensure_locked(repository.lock(), replace(settings, ivy_settings=tmp_path / "absent.xml"))

    assert caught.value.exit_status == 2
    assert files(settings.cache_dir) == []


def test_of_two_processes_one_fetches_and_the_other_waits_and_finds_everything(
    repository: JarRepository, settings: JavaSettings, tmp_path: Path
) -> None:
    lock = write_lock(tmp_path / "jars.lock", repository.lock())
    repository.withheld.add(repository.path(1))

    with start_fetching(settings, lock) as first:
        assert repository.asked_for_withheld.wait(timeout=30)
        with start_fetching(settings, lock) as second:
            assert second.stdout is not None
            assert second.stdout.readline() == f"{WAITING}\n"
            repository.release.set()
            assert (second.wait(timeout=30), second.stdout.read()) == (0, "")
        assert first.wait(timeout=30) == 0

    assert repository.fetched == list(repository.jars)
    assert files(settings.cache_dir) == ALL_FILES


def test_after_a_kill_in_the_middle_of_a_download_the_next_run_succeeds_and_cleans_up(
    repository: JarRepository, settings: JavaSettings, tmp_path: Path
) -> None:
    """The kill leaves Ivy running and half a jar in its folder; the next run ends and removes."""
    lock = write_lock(tmp_path / "jars.lock", repository.lock())
    repository.withheld.add(repository.path(1))
    with start_fetching(settings, lock) as killed:
        assert repository.asked_for_withheld.wait(timeout=30)
        (ivy,) = psutil.Process(killed.pid).children()
        killed.send_signal(signal.SIGKILL)
    assert not has_ended(ivy)
    assert [file for file in files(settings.cache_dir) if file in ALL_FILES] == []
    repository.withheld.clear()

    ensure_locked(repository.lock(), settings)

    eventually(lambda: has_ended(ivy), within_seconds=10)
    assert files(settings.cache_dir) == ALL_FILES
