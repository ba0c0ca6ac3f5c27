"""How Java is called for a driver."""

import os
from pathlib import Path

import pytest

from penstock.engine import SessionOptions, Tuning
from penstock.engine.archive import LATE_CLASSES, make_later, use_options
from penstock.engine.driver import GATEWAY, MODULE_OPTIONS, SUBMIT, build_properties, spark_jars
from penstock.engine.session import build_command
from penstock.java import ClassArchive, Java

JAVA = Java(
    executable=Path("/java/bin/java"), home=Path("/java"), major_version=17, source="a test"
)
JARS = (Path("/jars/kafka.jar"), Path("/jars/delta.jar"))
PROPERTIES = Path("/driver/spark.properties")


def command(
    master: str = "local[2,4]",
    *,
    conf: dict[str, str] | None = None,
    tuning: Tuning = Tuning.THROUGHPUT,
) -> list[str]:
    options = SessionOptions(
        app_name="a test",
        master=master,
        driver_memory_mb=1536,
        conf=conf or {},
        log_file=Path("/log"),
        tuning=tuning,
    )
    return build_command(options, JAVA, JARS).build(PROPERTIES)


def class_path(words: list[str]) -> list[str]:
    return words[words.index("-cp") + 1].split(os.pathsep)


def test_a_local_driver_is_one_java_that_serves_the_gateway() -> None:
    words = command()
    assert (words[0], words[-1], SUBMIT in words) == ("/java/bin/java", GATEWAY, False)
    assert [word for word in words if word in MODULE_OPTIONS] == list(MODULE_OPTIONS)
    assert {"-Xmx1536m", "-Xmn512m", "-XX:+UseParallelGC"} <= set(words)
    assert tuple(Path(jar) for jar in class_path(words)) == spark_jars(JARS)


def test_the_class_path_begins_as_sparks_launcher_has_it() -> None:
    names = [jar.name.partition("-4")[0] for jar in spark_jars(JARS)]
    assert names[0].startswith("slf4j-api")
    assert names[1:-2] == sorted(names[1:-2])
    assert names[-2:] == ["kafka.jar", "delta.jar"]


def test_a_driver_that_starts_quickly_compiles_and_collects_simply() -> None:
    words = command(tuning=Tuning.QUICK_START)
    assert {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} <= set(words)


@pytest.mark.parametrize(
    ("master", "conf"),
    [
        ("spark://host:7077", {}),
        ("yarn", {}),
        ("local[2]", {"spark.jars.packages": "a:b:1"}),
        ("local[2]", {"spark.jars": "/my.jar"}),
    ],
)
def test_what_only_sparks_own_entry_point_can_do_goes_through_it(
    master: str, conf: dict[str, str]
) -> None:
    words = command(master, conf=conf)
    assert words[words.index(SUBMIT) :] == [
        SUBMIT,
        "--master",
        master,
        "--properties-file",
        str(PROPERTIES),
        "--load-spark-defaults",
        "pyspark-shell",
    ]


def test_the_executors_of_a_cluster_get_the_jars_too() -> None:
    options = SessionOptions(
        app_name="a test",
        master="yarn",
        driver_memory_mb=512,
        conf={"spark.jars": "/my.jar"},
        log_file=Path("/log"),
    )
    conf = build_command(options, JAVA, JARS).conf
    assert conf["spark.jars"] == "/jars/kafka.jar,/jars/delta.jar,/my.jar"


def test_options_and_jars_of_the_user_come_last() -> None:
    conf = {
        "spark.driver.extraJavaOptions": "-Da=1 '-Db=two words'",
        "spark.driver.extraClassPath": "/mine.jar:/yours.jar",
    }
    words = command(conf=conf)
    at = words.index("-cp")
    assert words[at - 2 : at] == ["-Da=1", "-Db=two words"]
    assert class_path(words)[-3:] == ["/jars/delta.jar", "/mine.jar", "/yours.jar"]


def test_properties_are_written_as_java_reads_them() -> None:
    conf = {"spark.a": r"C:\new", "spark.b": "two\nlines"}
    assert build_properties(conf) == "spark.a=C:\\\\new\nspark.b=two\\nlines\n"


def test_without_an_archive_classes_are_listed_and_with_one_it_is_used(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path / "a.jsa")
    listed = archive.new_recording()
    assert use_options(archive, listed) == (f"-XX:DumpLoadedClassList={listed}",)
    assert use_options(archive, None) == ()

    archive.path.touch()

    assert archive.new_recording() is None
    assert use_options(archive, None) == (f"-XX:SharedArchiveFile={archive.path}", "-Xshare:auto")


def test_the_list_of_a_driver_that_finished_no_batch_is_thrown_away(tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    classes.write_text("".join(f"{name}Base id: 1\n" for name in LATE_CLASSES))

    make_later(ClassArchive(tmp_path / "a.jsa"), classes, ["/no/java"])

    assert list(tmp_path.iterdir()) == []
