"""Options of Spark's Kafka source and sink: how to reach the cluster, and what makes reading fast.

The sink has the defaults of Kafka's client.

Keys and certificates travel as text and not as paths, so executors need no files of the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.flow_errors import PrivateKeyFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.settings import ClusterSettings

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

SOURCE_TUNING: Mapping[str, str] = {
    # Spark asks the broker for its offsets after every poll: the client's 500 records a poll cost
    # half of the throughput. Far more records take memory and give nothing.
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
    "kafka.fetch.max.bytes": str(64 * 1024 * 1024),
    "kafka.receive.buffer.bytes": str(1024 * 1024),
}


def kafka_options(connection: Connection) -> dict[str, str]:
    """Return the options, `kafka.` prefix included, by which Spark reaches the cluster.

    Raises:
        PrivateKeyFormatError: Java cannot read the client's private key.
    """
    security = connection.security
    options = {
        "bootstrap.servers": connection.bootstrap,
        "security.protocol": security.security_protocol,
    }
    if security.security_protocol.startswith("SASL"):
        options |= _sasl(security)
    if security.security_protocol.endswith("SSL"):
        options |= _ssl(security)
    return {f"kafka.{name}": value for name, value in options.items()}


def _sasl(security: ClusterSettings) -> dict[str, str]:
    mechanism = security.sasl_mechanism or "PLAIN"
    password = security.sasl_password.get_secret_value() if security.sasl_password else ""
    login = (
        f"{_LOGIN_MODULES[mechanism]} required"
        f" username={_quoted(security.sasl_username or '')} password={_quoted(password)};"
    )
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _ssl(security: ClusterSettings) -> dict[str, str]:
    options: dict[str, str] = {}
    if security.ssl_ca is not None:
        options |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": _text(security.ssl_ca),
        }
    if security.ssl_certificate is not None and security.ssl_key is not None:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _text(security.ssl_certificate),
            "ssl.keystore.key": _private_key(security.ssl_key),
        }
    if security.ssl_key_password is not None:
        options["ssl.key.password"] = security.ssl_key_password.get_secret_value()
    return options


def _private_key(path: Path) -> str:
    text = _text(path)
    # Java's client knows PKCS#8 alone; librdkafka, which the rest of Penstock uses, knows more.
    if "BEGIN PRIVATE KEY" not in text and "BEGIN ENCRYPTED PRIVATE KEY" not in text:
        raise PrivateKeyFormatError(path)
    return text


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii")
