"""What can be wrong with Java or with the jars that Penstock fetches."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A place that was searched for Java, and why what is there cannot be used."""

    place: str
    reason: str


class NoJavaError(PenstockError):
    """No usable Java was found in any of the places searched."""

    code = "PEN-601"

    def __init__(self, searched: Sequence[PassedOver]) -> None:
        found = "; ".join(f"{item.place}: {item.reason}" for item in searched)
        super().__init__(
            f"no Java 17, or 21 and later, was found ({found})",
            hint='`pip install "penstock[java]"`, or set `JAVA_HOME` to a Java 17 or 21',
        )
        self.searched = tuple(searched)


class JarsNotFetchedError(PenstockError):
    """Ivy could not bring some of the jars; none was put into the cache."""

    code = "PEN-602"
    retryable = True

    def __init__(self, coordinates: Sequence[str], *, reason: str, log: Path) -> None:
        others = len(coordinates) - 1
        more = f" and {others} other jar{'s' if others > 1 else ''}" if others else ""
        super().__init__(
            f"`{coordinates[0]}`{more} could not be fetched: {reason} (Ivy's output: `{log}`)",
            hint="check the network; behind a proxy set `HTTPS_PROXY`, with a mirror set "
            "`java.ivy_settings` to an Ivy settings file (docs/errors/PEN-602.md has one)",
        )
        self.coordinates = tuple(coordinates)
        self.log = log


class ChecksumMismatchError(PenstockError):
    """A fetched jar is not the one that the lock names; nothing was put into the cache."""

    code = "PEN-603"

    def __init__(self, coordinate: str, *, expected: str, found: str) -> None:
        super().__init__(
            f"`{coordinate}` was fetched with SHA-256 `{found}`, the lock has `{expected}`",
            hint="nothing was installed; check the repository in `java.ivy_settings`, or a proxy "
            "that alters downloads",
        )
        self.coordinate, self.expected, self.found = coordinate, expected, found


class CacheNotWritableError(PenstockError):
    """The cache folder cannot be created, read or written."""

    code = "PEN-604"

    def __init__(self, cache_dir: Path, *, reason: str) -> None:
        super().__init__(
            f"the cache folder `{cache_dir}` cannot be used: {reason}",
            hint="make it writable, or set `java.cache_dir` (`PENSTOCK_JAVA_CACHE_DIR`) to "
            "another folder",
        )
        self.cache_dir = cache_dir


class CacheDiskFullError(PenstockError):
    """The disk of the cache folder has no room for the jars."""

    code = "PEN-605"

    def __init__(self, cache_dir: Path, *, free_bytes: int) -> None:
        super().__init__(
            f"the disk of the cache folder `{cache_dir}` has no room for the jars: "
            f"{free_bytes / 1e6:.1f} MB are free",
            hint="free some space there, or set `java.cache_dir` (`PENSTOCK_JAVA_CACHE_DIR`) to "
            "a folder on another disk",
        )
        self.cache_dir, self.free_bytes = cache_dir, free_bytes


class IvyNotFoundError(PenstockError):
    """PySpark, whose Ivy fetches the jars, is not installed or lacks it."""

    code = "PEN-606"

    def __init__(self, *, folder: Path | None) -> None:
        searched = "PySpark is not installed" if folder is None else f"`{folder}` has no Ivy"
        super().__init__(
            f"the jars are fetched by the Ivy inside PySpark, and {searched}",
            hint="`pip install pyspark==4.2.0` brings it",
        )


class IvySettingsNotFoundError(UsageError):
    """`java.ivy_settings` names a file that does not exist."""

    code = "PEN-607"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the Ivy settings file `{path}` does not exist",
            hint="correct `java.ivy_settings` (`PENSTOCK_JAVA_IVY_SETTINGS`); "
            "`penstock config show` says where it was set",
        )
        self.path = path
