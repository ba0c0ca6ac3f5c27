"""`penstock config show`: every value with its source."""

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
        ("platform.name", "local", "default"),
        ("platform.brokers", "1", "default"),
        ("platform.port", "19092", "environment PENSTOCK_PLATFORM_PORT"),
        ("platform.heap_mb", "192", "default"),
        ("platform.data_dir", str(tmp_path / "data"), str(path)),
        ("java.cache_dir", "/cache/penstock", "default"),
        ("java.ivy_settings", "-", "default"),
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
        f"  at {path}\n\nhint: did you mean `platform.port`?\n",
    )
