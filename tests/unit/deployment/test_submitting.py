"""The command lines by which packages run on clusters."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.deployment.errors import (
    ClusterSettingMissingError,
    NoClusterModeError,
    PackageMismatchError,
    SettingTakenError,
    SubmitFailedError,
)
from penstock.deployment.submitting import (
    SubmitCommand,
    UnpackedPackage,
    client_command,
    cluster_command,
    prepare_client,
    submit_to_cluster,
)
from penstock.java import Java
from penstock.settings import Location, Settings, load_settings
from unit.deployment.test_package import MANIFEST

RUN = ("run", "penstock_package/project", "--profile", "production", "--json")
JAVA = Java(executable=Path("/java/bin/java"), home=Path("/java"), major_version=17, source="test")
KUBERNETES = {
    "spark.kubernetes.container.image": "spark:4.2.0",
    "spark.kubernetes.file.upload.path": "s3a://bucket/packages",
}


@pytest.fixture
def package(tmp_path: Path) -> UnpackedPackage:
    folder = tmp_path / "packages" / "shop"
    (folder / "jars").mkdir(parents=True)
    for name in ("b.jar", "a.jar"):
        (folder / "jars" / name).write_text("")
    return UnpackedPackage(archive=tmp_path / "shop.zip", folder=folder, manifest=MANIFEST)


def settings(master: str, conf: dict[str, str] | None = None) -> Settings:
    found = load_settings({"spark.master": master}, start=Path("/"), environ={"HOME": "/"})
    root = Location("s3a://bucket/checkpoints")
    return replace(found, spark=replace(found.spark, conf=conf or {}, checkpoint_root=root))


def clustered(
    package: UnpackedPackage, master: str, conf: dict[str, str] | None = None
) -> SubmitCommand:
    return cluster_command(
        package,
        settings(master, conf),
        RUN,
        java=JAVA,
        properties_file=Path("/tmp/p"),  # noqa: S108
    )


@pytest.mark.parametrize("master", ["yarn", "k8s://https://api:6443"])
def test_in_cluster_mode_spark_submit_gets_launcher_jars_and_settings(
    master: str, package: UnpackedPackage
) -> None:
    command = clustered(package, master, KUBERNETES)
    jars = package.folder / "jars"

    submit, *rest = command.arguments
    assert submit.endswith("pyspark/bin/spark-submit")
    assert Path(submit).is_file()
    assert rest == [
        *("--master", master, "--deploy-mode", "cluster", "--name", "shop"),
        *("--properties-file", "/tmp/p"),  # noqa: S108
        *("--jars", f"{jars / 'a.jar'},{jars / 'b.jar'}"),
        str(package.folder / "launch.py"),
        *RUN,
    ]
    assert command.environment["JAVA_HOME"] == "/java"


def test_on_yarn_driver_and_executors_import_from_the_archive(package: UnpackedPackage) -> None:
    conf = clustered(package, "yarn").properties
    python_path = "penstock_package/packages:penstock_package/project"

    assert conf["spark.archives"] == f"{package.archive}#penstock_package"
    assert conf["spark.executorEnv.PYTHONPATH"] == python_path
    assert conf["spark.yarn.appMasterEnv.PYTHONPATH"] == python_path
    assert conf["spark.pyspark.python"] == f"python{MANIFEST.python}"
    assert conf["spark.yarn.submit.waitAppCompletion"] == "false"
    assert conf["spark.sql.session.timeZone"] == "UTC"


def test_on_kubernetes_so_do_its_pods(package: UnpackedPackage) -> None:
    conf = clustered(package, "k8s://https://api", KUBERNETES).properties

    assert conf["spark.kubernetes.driverEnv.PYTHONPATH"] == conf["spark.executorEnv.PYTHONPATH"]
    assert conf["spark.kubernetes.submission.waitAppCompletion"] == "false"
    assert not [key for key in conf if key.startswith("spark.yarn.")]


def test_a_python_of_the_users_choice_is_kept(package: UnpackedPackage) -> None:
    conf = clustered(package, "yarn", {"spark.pyspark.python": "/opt/python"}).properties

    assert conf["spark.pyspark.python"] == "/opt/python"
    assert conf["spark.yarn.appMasterEnv.PYSPARK_PYTHON"] == "/opt/python"


@pytest.mark.parametrize("missing", list(KUBERNETES))
def test_kubernetes_needs_an_image_and_a_place_to_upload_to(
    missing: str, package: UnpackedPackage
) -> None:
    conf = {key: value for key, value in KUBERNETES.items() if key != missing}

    with pytest.raises(ClusterSettingMissingError, match=missing):
        clustered(package, "k8s://https://api", conf)


@pytest.mark.parametrize("master", ["spark://host:7077", "local[2]"])
def test_cluster_mode_is_refused_where_it_cannot_be(master: str, package: UnpackedPackage) -> None:
    with pytest.raises(NoClusterModeError, match="runs no driver in Python") as refused:
        clustered(package, master)

    assert "--mode client" in refused.value.hint


def test_in_client_mode_the_driver_imports_from_the_package(
    package: UnpackedPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    command = client_command(package, settings("yarn"), RUN)

    assert command.arguments == (sys.executable, str(package.folder / "launch.py"), *RUN)
    assert command.environment["PYTHONPATH"] == str(package.packages)
    assert command.properties["spark.archives"] == f"{package.archive}#penstock_package"


def test_executors_on_this_machine_need_no_copy(package: UnpackedPackage) -> None:
    conf = client_command(package, settings("spark://127.0.0.1:7077"), RUN).properties

    assert conf == {"spark.executorEnv.PYTHONPATH": f"{package.packages}:{package.project}"}


def test_spark_reads_its_defaults_beside_the_users_own(
    package: UnpackedPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "conf"
    own.mkdir()
    (own / "spark-defaults.conf").write_text("spark.executor.memory 3g\n")
    (own / "hive-site.xml").write_text("<configuration/>")
    monkeypatch.setenv("SPARK_CONF_DIR", str(own))
    command = client_command(package, settings("yarn"), RUN)

    for _ in range(2):
        prepare_client(package, command)

    folder = Path(command.environment["SPARK_CONF_DIR"])
    defaults = (folder / "spark-defaults.conf").read_text().splitlines()
    assert "spark.executor.memory 3g" in defaults
    assert defaults.count(f"spark.archives={package.archive}#penstock_package") == 1
    assert (folder / "hive-site.xml").exists()


def test_a_package_for_another_spark_is_refused_here(package: UnpackedPackage) -> None:
    other = replace(package, manifest=replace(MANIFEST, spark="3.5.0"))

    with pytest.raises(PackageMismatchError, match=r"Spark is 3\.5\.0 there"):
        client_command(other, settings("yarn"), RUN)


def test_what_submitting_sets_cannot_be_set_by_the_profile(package: UnpackedPackage) -> None:
    with pytest.raises(SettingTakenError, match=r"spark\.archives"):
        clustered(package, "yarn", {"spark.archives": "other.zip"})


def test_a_failed_submission_tells_the_complaint(package: UnpackedPackage, tmp_path: Path) -> None:
    script = 'echo "Exception in thread main: no route to host"; echo "  at x"; exit 3'
    command = SubmitCommand(
        master="yarn",
        arguments=("/bin/sh", "-c", script),
        environment={},
        properties={"spark.x": "secret"},
    )
    properties, log = tmp_path / "spark.properties", tmp_path / "logs" / "submit.log"

    with pytest.raises(SubmitFailedError, match="status 3: Exception in thread main: no route"):
        submit_to_cluster(package, command, properties_file=properties, log=log)

    assert properties.read_text() == "spark.x=secret\n"
    assert properties.stat().st_mode & 0o077 == 0
