"""The Kafka set of the committed lock, fetched or found in the cache of this user."""

import subprocess
from pathlib import Path

from penstock.java import JarSet, class_path, ensure_jars, find_java
from penstock.settings import load_settings


def test_kafka_logs_with_the_jars_of_its_set(tmp_path: Path) -> None:
    """Without a working binding for its logging, Kafka would end here without a word."""
    jars = class_path(ensure_jars(JarSet.KAFKA, load_settings().java))
    absent = tmp_path / "absent.properties"

    done = subprocess.run(
        [find_java().executable, "-cp", jars, "kafka.Kafka", absent],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "ERROR Exiting Kafka due to fatal exception" in done.stdout
    assert "SLF4J" not in done.stderr
