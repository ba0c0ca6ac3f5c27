"""Java and jars: which runtime to use, and the locked jars that Kafka and Spark run from."""

from penstock.java.archive import ClassArchive, class_archive
from penstock.java.cache import JarState, class_path, ensure_jars, jar_states
from penstock.java.coordinates import Coordinate, JarSet, LockedJar, load_lock
from penstock.java.errors import (
    CacheDiskFullError,
    CacheNotWritableError,
    ChecksumMismatchError,
    IvyNotFoundError,
    IvySettingsNotFoundError,
    JarsNotFetchedError,
    NoJavaError,
    PassedOver,
)
from penstock.java.faults import free_bytes
from penstock.java.runtime import Java, find_java

__all__ = [
    "CacheDiskFullError",
    "CacheNotWritableError",
    "ChecksumMismatchError",
    "ClassArchive",
    "Coordinate",
    "IvyNotFoundError",
    "IvySettingsNotFoundError",
    "JarSet",
    "JarState",
    "JarsNotFetchedError",
    "Java",
    "LockedJar",
    "NoJavaError",
    "PassedOver",
    "class_archive",
    "class_path",
    "ensure_jars",
    "find_java",
    "free_bytes",
    "jar_states",
    "load_lock",
]
