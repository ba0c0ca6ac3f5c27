import subprocess
from pathlib import Path

import pytest

from penstock.java import CacheNotWritableError
from penstock.java.shim import ensure_shim


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """Return something in the place of Java that prints its arguments, in an awkward folder."""
    path = tmp_path / "it's a runtime" / "java"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    path.chmod(0o755)
    return path


def test_the_launcher_is_kept_and_repaired(java: Path, tmp_path: Path) -> None:
    home = ensure_shim(java, version="21.0.8", cache_dir=tmp_path / "cache")
    launcher = home / "bin" / "java"
    written = launcher.stat()
    assert ensure_shim(java, version="21.0.8", cache_dir=tmp_path / "cache") == home
    assert launcher.stat() == written

    text = launcher.read_text()
    launcher.write_text(text[:40])
    ensure_shim(java, version="21.0.8", cache_dir=tmp_path / "cache")

    assert launcher.read_text() == text
    assert sorted(path.name for path in launcher.parent.iterdir()) == ["java"]


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        pytest.param(
            ["-Xmx1g", "--add-modules=jdk.incubator.vector", "Main", "a b"],
            ["-Xmx1g", "Main", "a b"],
            id="as Spark writes it",
        ),
        pytest.param(
            ["--add-modules", "jdk.incubator.vector", "-cp", "*:$HOME", "Main", ""],
            ["-cp", "*:$HOME", "Main", ""],
            id="two words, and nothing is expanded",
        ),
        pytest.param(
            ["--add-modules", "java.sql", "--add-modules=java.net.http", "Main"],
            ["--add-modules", "java.sql", "--add-modules=java.net.http", "Main"],
            id="other modules stay",
        ),
        pytest.param(["--add-modules"], ["--add-modules"], id="a mistake is left for Java to name"),
    ],
)
def test_only_the_argument_that_asks_for_the_module_is_dropped(
    java: Path, tmp_path: Path, given: list[str], passed: list[str]
) -> None:
    home = ensure_shim(java, version="21.0.8", cache_dir=tmp_path / "cache")

    said = subprocess.run([home / "bin" / "java", *given], capture_output=True, check=True)

    assert said.stdout.decode() == "".join(f"<{argument}>" for argument in passed)


def test_a_cache_that_cannot_be_written_is_said_so(java: Path, tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")

    with pytest.raises(CacheNotWritableError) as caught:
        ensure_shim(java, version="21.0.8", cache_dir=occupied)

    assert caught.value.cache_dir == occupied
