"""The checks of `penstock doctor` on machines of all kinds; `tests/e2e` runs them on this one."""

import hashlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.java import JarSet, LockedJar, load_lock
from penstock.local import doctor
from penstock.local.control import BrokerState, BrokerStatus
from penstock.local.doctor import Check, Level
from penstock.local.platform import Platform, PlatformStatus
from penstock.names import BrokerId, PlatformName
from penstock.settings import JavaSettings, PlatformSettings, load_settings


@pytest.fixture
def platform(tmp_path: Path) -> PlatformSettings:
    return PlatformSettings(
        name=PlatformName("test"), brokers=1, port=0, heap_mb=192, data_dir=tmp_path / "data"
    )


@pytest.fixture
def java(tmp_path: Path) -> JavaSettings:
    return JavaSettings(cache_dir=tmp_path / "cache", ivy_settings=None)


@pytest.fixture
def held_port() -> Iterator[int]:
    """A port on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def status_of(
    platform: PlatformSettings, *, running: bool, brokers: tuple[BrokerStatus, ...] = ()
) -> PlatformStatus:
    return PlatformStatus(
        name=platform.name,
        running=running,
        bootstrap="127.0.0.1:9092" if running else None,
        folder=platform.data_dir,
        brokers=brokers,
    )


@pytest.mark.parametrize(
    ("available", "brokers", "level", "found"),
    [
        (4_000_000_000, 1, Level.OK, "4.0 GB available, enough for 3 brokers"),
        (600_000_000, 1, Level.WARNING, "0.6 GB available, enough for 1 broker; 3 broker(s) need"),
        (600_000_000, 3, Level.PROBLEM, "0.6 GB available, enough for 1 broker; 3 broker(s) need"),
        (100_000_000, 1, Level.PROBLEM, "1 broker(s) need about"),
    ],
)
def test_memory_is_compared_with_what_one_and_three_brokers_take(
    platform: PlatformSettings, available: int, brokers: int, level: Level, found: str
) -> None:
    settings = replace(platform, brokers=brokers)

    check = doctor.memory(available, settings, status_of(platform, running=False))

    assert (check.level, check.found[: len(found)], bool(check.hint)) == (
        level,
        found,
        level is not Level.OK,
    )


def test_little_memory_is_no_problem_for_a_platform_that_runs(platform: PlatformSettings) -> None:
    check = doctor.memory(1, platform, status_of(platform, running=True))

    assert check == Check(
        name="memory", level=Level.OK, found="0.0 GB available beside the running platform"
    )


@pytest.mark.parametrize(
    ("free", "level"),
    [(50_000_000_000, Level.OK), (1_500_000_000, Level.WARNING), (50_000_000, Level.PROBLEM)],
)
def test_the_data_disk_must_have_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    monkeypatch.setattr(doctor, "free_bytes", lambda _: free)

    assert doctor.data_disk(tmp_path).level is level


@pytest.mark.parametrize(("free", "level"), [(10**9, Level.OK), (10**7, Level.PROBLEM)])
def test_the_cache_disk_must_have_room_for_the_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    monkeypatch.setattr(doctor, "free_bytes", lambda _: free)

    assert doctor.cache_disk(tmp_path).level is level


def test_folders_that_cannot_be_made_are_problems(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    folder = occupied / "folder"

    checks = [doctor.data_disk(folder), doctor.cache_disk(folder)]

    assert [(check.level, check.found) for check in checks] == [
        (Level.PROBLEM, f"`{folder}` cannot be written"),
        (Level.PROBLEM, f"`{folder}` cannot be written"),
    ]


@pytest.mark.parametrize(
    ("limit", "level", "found"),
    [
        (-1, Level.OK, "no limit"),
        (65536, Level.OK, "at most 65536 for each process"),
        (1024, Level.WARNING, "at most 1024 for each process"),
    ],
)
def test_few_open_files_are_a_warning(limit: int, level: Level, found: str) -> None:
    check = doctor.open_files(limit)

    assert (check.level, check.found) == (level, found)


@pytest.mark.parametrize(
    ("year", "level"), [(2026, Level.OK), (1970, Level.PROBLEM), (2100, Level.PROBLEM)]
)
def test_a_clock_behind_the_installation_or_far_ahead_is_a_problem(year: int, level: Level) -> None:
    installed = datetime(2025, 6, 1, tzinfo=UTC)

    assert doctor.clock(datetime(year, 6, 1, tzinfo=UTC), installed).level is level


def _lock_as(monkeypatch: pytest.MonkeyPatch, jars: Sequence[LockedJar]) -> None:
    sets = {JarSet.KAFKA: tuple(jars), JarSet.EXPORTER: ()}
    monkeypatch.setattr(doctor, "load_lock", lambda jar_set: sets[jar_set])


def test_jars_are_missing_damaged_or_verified(
    java: JavaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    jars = load_lock(JarSet.KAFKA)[:3]
    _lock_as(monkeypatch, jars)
    assert doctor.jars(java) == Check(
        name="jars",
        level=Level.WARNING,
        found=f"of 3 Kafka jars 3 missing in {java.cache_dir}",
        hint="`penstock up` fetches them; that needs the network once",
    )

    contents = [str(jar.coordinate).encode() for jar in jars]
    locked = [
        replace(jar, sha256=hashlib.sha256(content).hexdigest())
        for jar, content in zip(jars, contents, strict=True)
    ]
    _lock_as(monkeypatch, locked)
    paths = [java.cache_dir / "jars" / jar.coordinate.file for jar in jars]
    for path, content in zip(paths, contents, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert doctor.jars(java) == Check(
        name="jars", level=Level.OK, found=f"3 Kafka jars verified in {java.cache_dir}"
    )

    paths[0].write_bytes(b"")
    paths[1].unlink()
    assert doctor.jars(java).found == f"of 3 Kafka jars 1 missing and 1 damaged in {java.cache_dir}"


def test_jars_to_fetch_through_a_settings_file_that_is_absent_are_a_problem(
    java: JavaSettings, tmp_path: Path
) -> None:
    check = doctor.jars(replace(java, ivy_settings=tmp_path / "absent.xml"))

    assert (check.level, str(tmp_path / "absent.xml") in check.found) == (Level.PROBLEM, True)


def test_a_java_home_that_cannot_be_used_is_a_warning_when_another_java_can(
    tmp_path: Path, java: JavaSettings
) -> None:
    good = tmp_path / "good" / "bin" / "java"
    good.parent.mkdir(parents=True)
    good.write_text("")
    good.chmod(0o755)
    (tmp_path / "good" / "release").write_text('JAVA_VERSION="17.0.15"\n')

    check = doctor.java(java, {"JAVA_HOME": "/nowhere", "PATH": str(good.parent)})

    assert check.level is Level.WARNING
    assert check.found == (
        f"Java 17 from {good} on the PATH; passed over "
        "JAVA_HOME=/nowhere: `/nowhere/bin/java` is not there or not executable"
    )


def test_a_held_port_is_named_with_its_holder(platform: PlatformSettings, held_port: int) -> None:
    settings = replace(platform, port=held_port)

    check = doctor.ports(settings, Platform(settings))

    assert check.level is Level.PROBLEM
    assert check.found.startswith(f"port {held_port} is held by process ")


def test_held_default_ports_are_a_warning_because_others_will_be_taken(
    platform: PlatformSettings, held_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "DEFAULT_PORT", held_port)
    settings = replace(platform, port=None)

    assert doctor.ports(settings, Platform(settings)).level is Level.WARNING


def test_any_free_port_is_fine_when_asked_for(platform: PlatformSettings) -> None:
    assert doctor.ports(platform, Platform(platform)) == Check(
        name="ports", level=Level.OK, found="any that are free, as configured"
    )


@pytest.mark.parametrize(
    ("running", "state", "level", "found"),
    [
        (True, BrokerState.RUNNING, Level.OK, "the platform `test` listens at 127.0.0.1:9092"),
        (
            False,
            BrokerState.ORPHANED,
            Level.WARNING,
            "brokers of the platform `test` run without their supervisor",
        ),
    ],
)
def test_ports_held_by_the_platform_itself_are_no_problem(
    platform: PlatformSettings,
    monkeypatch: pytest.MonkeyPatch,
    *,
    running: bool,
    state: BrokerState,
    level: Level,
    found: str,
) -> None:
    broker = BrokerStatus(broker_id=BrokerId(1), port=9092, state=state, pid=1)
    status = status_of(platform, running=running, brokers=(broker,))
    monkeypatch.setattr(Platform, "status", lambda _: status)

    check = doctor.ports(platform, Platform(platform))

    assert (check.level, check.found) == (level, found)


def test_the_report_has_every_line_even_when_a_check_fails(
    platform: PlatformSettings, java: JavaSettings, tmp_path: Path
) -> None:
    """Without any Java, `find_java` raises; the other lines must still come."""
    configured = load_settings({"bootstrap": "127.0.0.1:1"}, start=tmp_path, environ={})
    settings = replace(configured, platform=platform, java=java)

    checks = {check.name: check for check in doctor.examine(settings, {"JAVA_HOME": "/nowhere"})}

    assert list(checks) == [
        "python",
        "java",
        "jars",
        "memory",
        "data disk",
        "cache disk",
        "open files",
        "ports",
        "clock",
        "cluster",
    ]
    assert checks["cluster"].level is Level.PROBLEM
    assert "127.0.0.1:1" in checks["cluster"].found
    assert [
        check.name for check in checks.values() if check.level is not Level.OK and not check.hint
    ] == []
