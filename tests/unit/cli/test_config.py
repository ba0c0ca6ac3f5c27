"""`penstock config show`: every value with its source."""

import re
from pathlib import Path

import pytest

from support.commands import Penstock

FILE = """
[profiles.production]
bootstrap = "kafka-1:9092"
security_protocol = "SASL_PLAINTEXT"
sasl_mechanism = "PLAIN"
sasl_username = "ada"
sasl_password = "${env:KAFKA_PASSWORD}"

[platform]
data_dir = "data"
"""


@pytest.fixture
def penstock(tmp_path: Path) -> Penstock:
    environment = {
        "XDG_CACHE_HOME": "/cache",
        "KAFKA_PASSWORD": "hunter2",
        "PENSTOCK_PLATFORM_PORT": "19092",
    }
    return Penstock(tmp_path, environment)


def test_the_table_has_every_key_its_value_and_its_source(
    penstock: Penstock, tmp_path: Path
) -> None:
    path = tmp_path / "penstock.toml"
    path.write_text(FILE, encoding="utf-8")

    done = penstock("config", "show", "--profile", "production")

    assert (done.status, done.stderr) == (0, f"file: {path}\n")
    assert [tuple(line.split(maxsplit=2)) for line in done.stdout.splitlines()] == [
        ("KEY", "VALUE", "SOURCE"),
        ("profile", "production", "command line"),
        ("bootstrap", "kafka-1:9092", str(path)),
        ("security_protocol", "SASL_PLAINTEXT", str(path)),
        ("sasl_mechanism", "PLAIN", str(path)),
        ("sasl_username", "ada", str(path)),
        ("sasl_password", "********", str(path)),
        ("ssl_ca", "-", "default"),
        ("ssl_certificate", "-", "default"),
        ("ssl_key", "-", "default"),
        ("ssl_key_password", "-", "default"),
        ("request_timeout_seconds", "10.0", "default"),
        ("broker_metrics", "-", "default"),
        ("platform.name", "local", "default"),
        ("platform.brokers", "1", "default"),
        ("platform.port", "19092", "environment PENSTOCK_PLATFORM_PORT"),
        ("platform.heap_mb", "192", "default"),
        ("platform.data_dir", str(tmp_path / "data"), str(path)),
        ("java.cache_dir", "/cache/penstock", "default"),
        ("java.ivy_settings", "-", "default"),
        ("spark.master", "-", "default"),
        ("spark.driver_memory_mb", "2048", "default"),
        ("spark.checkpoint_root", str(tmp_path / "data" / "checkpoints"), "default"),
        ("spark.warehouse", str(tmp_path / "data" / "tables"), "default"),
        ("spark.conf", "-", "default"),
        ("pipeline.name", "-", "default"),
        ("pipeline.files", "flows.py,flows/**/*.py", "default"),
        ("pipeline.restart_limit", "5", "default"),
        ("pipeline.restart_window_seconds", "600.0", "default"),
        ("pipeline.driver_restart_limit", "5", "default"),
        ("pipeline.driver_restart_window_seconds", "600.0", "default"),
        ("pipeline.health_port", "-", "default"),
        ("pipeline.health_host", "127.0.0.1", "default"),
        ("pipeline.service_levels", "-", "default"),
        ("registry.url", "-", "default"),
        ("registry.username", "-", "default"),
        ("registry.password", "-", "default"),
        ("registry.ca", "-", "default"),
        ("registry.register", "-", "default"),
        ("registry.port", "-", "default"),
        ("registry.host", "127.0.0.1", "default"),
        ("registry.advertised_url", "-", "default"),
        ("registry.topic", "_schemas", "default"),
        ("registry.users", "-", "default"),
        ("registry.certificate", "-", "default"),
        ("registry.key", "-", "default"),
        ("console.port", "-", "default"),
        ("console.host", "127.0.0.1", "default"),
        ("console.users", "-", "default"),
        ("console.certificate", "-", "default"),
        ("console.key", "-", "default"),
        ("console.https_proxies", "-", "default"),
        ("console.masks", "-", "default"),
    ]


def test_json_has_the_file_the_profile_and_the_same_values(
    penstock: Penstock, tmp_path: Path
) -> None:
    path = tmp_path / "penstock.toml"
    path.write_text(FILE, encoding="utf-8")

    shown = penstock("config", "show", "--profile", "production", "--json").json

    assert (shown["file"], shown["profile"]) == (str(path), "production")
    assert shown["settings"][5] == {
        "key": "sasl_password",
        "value": "********",
        "source": str(path),
    }
    assert "hunter2" not in str(shown)


def test_without_a_file_it_says_so(penstock: Penstock) -> None:
    done = penstock("config", "show")
    assert (done.status, done.stderr) == (0, "file: no penstock.toml in this folder or above\n")
    assert penstock("config", "show", "--json").json["file"] is None


def test_a_wrong_file_is_an_error_with_its_place(penstock: Penstock, tmp_path: Path) -> None:
    path = tmp_path / "penstock.toml"
    path.write_text("[platform]\nprot = 1\n", encoding="utf-8")
    done = penstock("config", "show")
    assert (done.status, done.stdout, done.stderr) == (
        2,
        "",
        "error[PEN-002]: `platform.prot` is not a setting\n"
        "  at penstock.toml\n\nhint: did you mean `platform.port`?\n",
    )


SPARK_FILE = """
[spark]
master = "local[2,4]"
warehouse = "/tables"

[spark.conf]
spark.sql.shuffle.partitions = 4
spark.hadoop.fs.s3a.secret.key = "hunter2"
"""


def test_the_settings_of_spark_have_a_source_and_a_reason(
    penstock: Penstock, tmp_path: Path
) -> None:
    (tmp_path / "penstock.toml").write_text(SPARK_FILE, encoding="utf-8")

    done = penstock("config", "show", "--spark")

    assert (done.status, done.stderr) == (
        0,
        "master: local[2,4]\nfrozen: a checkpoint keeps the value that it was made with\n",
    )
    assert [re.split(r"  +", line)[:4] for line in done.stdout.splitlines()] == [
        ["KEY", "VALUE", "SOURCE", "FROZEN"],
        *SPARK_ROWS,
    ]
    assert "hunter2" not in done.stdout


SPARK_ROWS = [
    ["spark.databricks.delta.snapshotPartitions", "2", "penstock", "no"],
    ["spark.driver.bindAddress", "127.0.0.1", "penstock", "no"],
    ["spark.driver.host", "127.0.0.1", "penstock", "no"],
    ["spark.driver.memory", "2048m", "penstock", "no"],
    ["spark.hadoop.fs.s3a.secret.key", "********", "your setting", "no"],
    ["spark.kafka.consumer.cache.capacity", "256", "penstock", "no"],
    [
        "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval",
        "10s",
        "penstock",
        "no",
    ],
    ["spark.kafka.consumer.fetchedData.cache.timeout", "20s", "penstock", "no"],
    ["spark.python.daemon.module", "penstock.engine.worker_daemon", "penstock", "no"],
    ["spark.sql.ansi.enabled", "true", "penstock", "no"],
    [
        "spark.sql.catalog.spark_catalog",
        "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "penstock",
        "no",
    ],
    ["spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension", "penstock", "no"],
    ["spark.sql.session.timeZone", "UTC", "penstock", "no"],
    ["spark.sql.shuffle.partitions", "4", "your setting", "yes"],
    ["spark.sql.streaming.metricsEnabled", "true", "penstock", "no"],
    ["spark.sql.streaming.minBatchesToRetain", "100", "penstock", "no"],
    ["spark.sql.streaming.multipleWatermarkPolicy", "min", "penstock", "yes"],
    ["spark.sql.streaming.numRecentProgressUpdates", "20", "penstock", "no"],
    ["spark.sql.streaming.offsetLog.formatVersion", "2", "penstock", "yes"],
    ["spark.sql.streaming.queryEvolution.enableSourceEvolution", "true", "penstock", "yes"],
    [
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "penstock",
        "yes",
    ],
    ["spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage", "true", "penstock", "no"],
    [
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        "true",
        "penstock",
        "no",
    ],
    ["spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "256", "penstock", "no"],
    ["spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "false", "penstock", "no"],
    ["spark.sql.streaming.stopActiveRunOnRestart", "false", "penstock", "no"],
    ["spark.sql.streaming.stopTimeout", "30s", "penstock", "no"],
    ["spark.sql.timeType.enabled", "true", "penstock", "no"],
    ["spark.sql.warehouse.dir", "/tables", "penstock", "no"],
    ["spark.ui.enabled", "false", "penstock", "no"],
    ["spark.ui.showConsoleProgress", "false", "penstock", "no"],
]


def test_json_has_the_value_that_the_user_replaced(penstock: Penstock, tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text(SPARK_FILE, encoding="utf-8")

    shown = penstock("config", "show", "--spark", "--json").json

    found = {item["key"]: item for item in shown["settings"]}
    assert shown["master"] == "local[2,4]"
    assert found["spark.sql.shuffle.partitions"] == {
        "key": "spark.sql.shuffle.partitions",
        "value": "4",
        "source": "your setting",
        "replaced": "2",
        "frozen": True,
        "reason": "as many as task slots, or as partitions that a flow reads if these are fewer;"
        " Spark's 200 make small batches slow",
    }
    assert found["spark.hadoop.fs.s3a.secret.key"]["reason"] is None
