"""`penstock kubernetes`: what it writes, and what it refuses."""

from pathlib import Path

import pytest
import yaml

from support.in_process import PenstockInProcess

SETTINGS = """
[pipeline]
name = "web_logs"
[profiles.production]
bootstrap = "kafka:9092"
security_protocol = "SASL_SSL"
sasl_mechanism = "SCRAM-SHA-512"
sasl_username = "shop"
sasl_password = "${env:KAFKA_PASSWORD}"
[profiles.production.spark]
checkpoint_root = "s3a://streams/checkpoints"
[profiles.production.spark.conf]
"spark.executor.instances" = "5"
[profiles.trial]
bootstrap = "kafka:9092"
"""
GOOD = ("--image", "shop:1", "--output", "deploy", "--profile", "production")


@pytest.fixture
def penstock(tmp_path: Path) -> PenstockInProcess:
    (tmp_path / "penstock.toml").write_text(SETTINGS)
    (tmp_path / "flows.py").write_text("")
    return PenstockInProcess(tmp_path, {})


def test_manifests_and_chart_are_written_and_the_secret_is_named(
    penstock: PenstockInProcess,
) -> None:
    outcome = penstock("kubernetes", *GOOD)

    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout == (
        "wrote 14 files to deploy; it needs the Secret `web-logs` with KAFKA_PASSWORD\n"
    )
    folder = penstock.folder / "deploy"
    deployment = yaml.safe_load((folder / "manifests" / "deployment.yaml").read_text())
    assert deployment["metadata"]["name"] == "web-logs"
    values = yaml.safe_load((folder / "chart" / "values.yaml").read_text())
    assert values == {
        "image": "shop:1",
        "profile": "production",
        "secret": "web-logs",
        "executors": 5,
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--profile", "trial"), "PEN-390"),
        (("--profile", "local"), "PEN-971"),
        (("--image", "Shop image"), "PEN-972"),
        (("--namespace", "Streams_1"), "PEN-972"),
        (("--output", "flows.py/deploy"), "PEN-398"),
        (("--profile", "prodcution"), "PEN-004"),
    ],
)
def test_what_cannot_work_is_refused(
    arguments: tuple[str, str], code: str, penstock: PenstockInProcess
) -> None:
    outcome = penstock("kubernetes", *GOOD, *arguments)

    assert (outcome.status, outcome.stderr[6:13]) == (2, code), outcome.stderr
