from pathlib import Path

import pytest

from penstock.java import Coordinate, JarSet, LockedJar, load_lock
from penstock.java.coordinates import LOCK_FILE, coordinate, lock_text
from penstock.java.lock import RECIPES

ANVIL = LockedJar(Coordinate("org.example", "anvil", "1.0"), "a" * 64)
ROPE = LockedJar(Coordinate("org.example", "rope_2.13", "2.0-preview1"), "b" * 64)


def test_a_lock_is_sorted_and_readable_and_reads_back(tmp_path: Path) -> None:
    text = lock_text({JarSet.KAFKA: (ROPE, ANVIL), JarSet.SPARK: (ROPE,)})

    assert text == (
        "# Written by `python -m penstock.java.lock`: change the sets there, not here.\n"
        "\n[kafka]\n"
        f"org.example:anvil:1.0 sha256:{'a' * 64}\n"
        f"org.example:rope_2.13:2.0-preview1 sha256:{'b' * 64}\n"
        "\n[spark]\n"
        f"org.example:rope_2.13:2.0-preview1 sha256:{'b' * 64}\n"
    )
    path = tmp_path / "jars.lock"
    path.write_text(text)
    assert load_lock(JarSet.KAFKA, path) == (ANVIL, ROPE)
    assert load_lock(JarSet.SPARK, path) == (ROPE,)


def test_the_committed_lock_is_as_the_writer_would_write_it() -> None:
    assert lock_text({name: load_lock(name) for name in JarSet}) == LOCK_FILE.read_text()


@pytest.mark.parametrize("jar_set", JarSet)
def test_the_committed_lock_has_what_each_set_is_made_from(jar_set: JarSet) -> None:
    locked = {jar.coordinate for jar in load_lock(jar_set)}

    assert {coordinate(root) for root in RECIPES[jar_set].roots} - locked == set()


def test_the_kafka_set_is_closed_and_can_log() -> None:
    jars = load_lock(JarSet.KAFKA)
    modules = [jar.coordinate.module for jar in jars]

    assert len(jars) == len(set(modules)) == 46
    assert {"log4j-api", "log4j-core", "log4j-slf4j-impl", "slf4j-api"} - set(modules) == set()
    assert {len(jar.sha256) for jar in jars} == {64}
