import os
from pathlib import Path

import pytest

from penstock.java import ClassArchive, Java, class_archive

JAVA = Java(
    executable=Path("/java/bin/java"), home=Path("/java"), major_version=17, source="a test"
)


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive(tmp_path / "archives" / "kafka" / "a.jsa")


def test_without_an_archive_a_jvm_records_one_and_the_next_uses_it(archive: ClassArchive) -> None:
    recording = archive.new_recording()
    assert recording is not None
    assert archive.options(recording) == [f"-XX:ArchiveClassesAtExit={recording}"]
    assert archive.options(None) == []
    recording.write_text("classes")

    archive.adopt(recording, complete=True)

    assert archive.options(None) == [f"-XX:SharedArchiveFile={archive.path}"]
    assert archive.new_recording() is None


def test_the_recording_of_a_killed_jvm_is_thrown_away(archive: ClassArchive) -> None:
    recording = archive.new_recording()
    assert recording is not None
    recording.write_text("half of the cla")

    archive.adopt(recording, complete=False)

    assert list(archive.path.parent.iterdir()) == []


def test_a_jvm_that_recorded_nothing_does_no_harm(archive: ClassArchive) -> None:
    recording = archive.new_recording()
    assert recording is not None

    archive.adopt(recording, complete=True)

    assert not archive.path.exists()


def test_other_jars_or_another_java_have_another_archive(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_text("1")
    first = class_archive(tmp_path, "kafka", JAVA, [jar])
    assert class_archive(tmp_path, "kafka", JAVA, [jar]) == first

    os.utime(jar, (1, 1))

    assert class_archive(tmp_path, "kafka", JAVA, [jar]) != first
