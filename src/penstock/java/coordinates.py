"""Which jars belong together, by coordinate, and the committed lock that pins their bytes.

`jars.lock` is data of this package: a section for each set, a line for each jar with its SHA-256.
The sets are closed, nothing is resolved transitively on a user's machine. `lock.py` writes it.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LOCK_FILE = Path(__file__).with_name("jars.lock")


class JarSet(StrEnum):
    """Jars that belong together: a class path, or an agent that is complete in itself."""

    KAFKA = "kafka"
    EXPORTER = "exporter"
    """Prometheus' JMX exporter, with which brokers show their metrics."""

    SPARK = "spark"


@dataclass(frozen=True, slots=True, order=True)
class Coordinate:
    """The name of a jar in every repository: organisation, module and version."""

    organisation: str
    module: str
    version: str

    def __str__(self) -> str:
        """Return `organisation:module:version`."""
        return f"{self.organisation}:{self.module}:{self.version}"

    @property
    def file(self) -> Path:
        """Where the jar lies below the folder of all jars."""
        return Path(self.organisation) / self.module / f"{self.module}-{self.version}.jar"


@dataclass(frozen=True, slots=True, order=True)
class LockedJar:
    """A jar and the sum its bytes must have."""

    coordinate: Coordinate
    sha256: str


def coordinate(text: str) -> Coordinate:
    """Return the coordinate that `text`, such as `org.slf4j:slf4j-api:1.7.36`, names."""
    organisation, module, version = text.split(":")
    return Coordinate(organisation, module, version)


def load_lock(jar_set: JarSet, path: Path = LOCK_FILE) -> tuple[LockedJar, ...]:
    """Return the jars of `jar_set` in the order of the lock."""
    sections = path.read_text(encoding="utf-8").split("\n[")
    header = f"{jar_set}]\n"
    lines = next(text for text in sections if text.startswith(header)).splitlines()[1:]
    jars = (line.split(" sha256:") for line in lines if line)
    return tuple(LockedJar(coordinate(name), sha256) for name, sha256 in jars)


def lock_text(sets: dict[JarSet, tuple[LockedJar, ...]]) -> str:
    """Return the lock that `load_lock` reads."""
    parts = ["# Written by `python -m penstock.java.lock`: change the sets there, not here.\n"]
    for jar_set, jars in sets.items():
        lines = (f"{jar.coordinate} sha256:{jar.sha256}\n" for jar in sorted(jars))
        parts.append(f"\n[{jar_set}]\n" + "".join(lines))
    return "".join(parts)
