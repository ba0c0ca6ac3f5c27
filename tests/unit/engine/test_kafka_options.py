"""How Spark's Kafka client is told to reach a cluster."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from penstock.engine.flow_errors import PrivateKeyFormatError
from penstock.engine.kafka_options import kafka_options
from penstock.kafka import Connection
from penstock.settings import ClusterSettings

KEY = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"


def test_a_plain_cluster_needs_its_address_alone() -> None:
    assert kafka_options(Connection(bootstrap="h:1")) == {
        "kafka.bootstrap.servers": "h:1",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
        ("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"),
    ],
)
def test_a_password_is_quoted_for_java(mechanism: str, module: str) -> None:
    security = ClusterSettings(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,  # type: ignore[arg-type]  # one of its literals
        sasl_username="ann",
        sasl_password=SecretStr('a"b\\c'),
    )
    options = kafka_options(Connection(bootstrap="h:1", security=security))
    assert options["kafka.sasl.mechanism"] == mechanism
    assert options["kafka.sasl.jaas.config"] == (
        f'{module} required username="ann" password="a\\"b\\\\c";'
    )


def test_certificates_travel_as_text_because_executors_have_no_such_files(tmp_path: Path) -> None:
    ca, certificate, key = (tmp_path / name for name in ("ca", "certificate", "key"))
    ca.write_text("CA")
    certificate.write_text("CERTIFICATE")
    key.write_text(KEY)
    security = ClusterSettings(
        security_protocol="SSL",
        ssl_ca=ca,
        ssl_certificate=certificate,
        ssl_key=key,
        ssl_key_password=SecretStr("secret"),
    )
    assert kafka_options(Connection(bootstrap="h:1", security=security)) == {
        "kafka.bootstrap.servers": "h:1",
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "CA",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": "CERTIFICATE",
        "kafka.ssl.keystore.key": KEY,
        "kafka.ssl.key.password": "secret",
    }


def test_a_key_that_java_cannot_read_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text(KEY.replace("BEGIN PRIVATE", "BEGIN RSA PRIVATE"))
    security = ClusterSettings(security_protocol="SSL", ssl_certificate=key, ssl_key=key)
    with pytest.raises(PrivateKeyFormatError) as caught:
        kafka_options(Connection(bootstrap="h:1", security=security))
    assert caught.value.code == "PEN-317"
    assert caught.value.hint.startswith("`openssl pkcs8 -topk8")
