"""Write `jars.lock` again: `python -m penstock.java.lock`, after changing the sets below.

Kafka's set is what its roots depend on, resolved by Ivy. Spark's is exactly what is named: its
connector's own dependencies are in PySpark already, and some of their versions cannot be had.
"""

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.java.coordinates import LOCK_FILE, JarSet, LockedJar, coordinate, lock_text
from penstock.java.ivy import Closure, IvyRun, fetch
from penstock.java.runtime import find_java


@dataclass(frozen=True, slots=True)
class Recipe:
    """From which coordinates a set is made."""

    closure: Closure
    roots: tuple[str, ...]


RECIPES = {
    # Kafka's jars bring an interface for logging and nothing behind it.
    JarSet.KAFKA: Recipe(
        Closure.TRANSITIVE,
        ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    ),
    # Later versions are not in every repository.
    JarSet.EXPORTER: Recipe(Closure.NAMED, ("io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1",)),
    # Not every repository has 4.2.0 of the token provider and of Avro; these run on it. Delta's
    # other dependencies are left out: they would bring a second, older Hadoop.
    JarSet.SPARK: Recipe(
        Closure.NAMED,
        (
            "io.delta:delta-kernel-api:4.4.0",
            "io.delta:delta-kernel-defaults:4.4.0",
            "io.delta:delta-kernel-unitycatalog:4.4.0",
            "io.delta:delta-spark_4.2_2.13:4.4.0",
            "io.delta:delta-storage:4.4.0",
            "io.unitycatalog:unitycatalog-client:0.6.0",
            "io.unitycatalog:unitycatalog-hadoop:0.6.0",
            "org.apache.commons:commons-pool2:2.13.1",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.spark:spark-avro_2.13:4.1.1",
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
            "org.locationtech.jts:jts-core:1.20.0",
        ),
    ),
}


def resolve(recipe: Recipe, settings_file: Path | None) -> tuple[LockedJar, ...]:
    """Fetch what `recipe` leads to and return it with the sums of what came."""
    with TemporaryDirectory() as folder:
        run = IvyRun(
            java=find_java(),
            folder=Path(folder),
            log=Path(folder) / "ivy.log",
            settings_file=settings_file,
            closure=recipe.closure,
        )
        fetch(run, [coordinate(root) for root in recipe.roots], lambda _: None)
        return tuple(_locked(run.jars, path) for path in run.jars.glob("*/*/*.jar"))


def _locked(folder: Path, path: Path) -> LockedJar:
    organisation, module = path.relative_to(folder).parts[:2]
    version = path.stem.removeprefix(f"{module}-")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return LockedJar(coordinate(f"{organisation}:{module}:{version}"), sha256)


def main(arguments: Sequence[str]) -> None:
    """Write the lock; the one argument, if given, is an Ivy settings file."""
    settings_file = Path(arguments[0]) if arguments else None
    sets = {jar_set: resolve(recipe, settings_file) for jar_set, recipe in RECIPES.items()}
    LOCK_FILE.write_text(lock_text(sets), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
