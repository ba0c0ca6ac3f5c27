"""How to reach a cluster: one value that every client of `penstock.kafka` is built from."""

from dataclasses import dataclass, field, replace
from typing import Self

from pydantic import SecretStr

from penstock.settings import ClusterSettings

# The client's own ten seconds would leave it idle long after a broker has come back.
_RECONNECT_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The address of a cluster and how to prove who is asking.

    `Connection(bootstrap="127.0.0.1:9092")` is enough for a cluster without security.
    """

    bootstrap: str
    security: ClusterSettings = field(default_factory=ClusterSettings)

    @property
    def request_timeout_seconds(self) -> float:
        """How long one request may take."""
        return self.security.request_timeout_seconds

    @property
    def is_plaintext(self) -> bool:
        """Whether a plain socket is enough: neither encryption nor authentication."""
        return self.security.security_protocol == "PLAINTEXT"

    @property
    def has_credentials(self) -> bool:
        """Whether a user and a password are sent, which the cluster may refuse."""
        return self.security.security_protocol.startswith("SASL")

    def with_request_timeout(self, seconds: float) -> Self:
        """Return the connection with requests that take no longer than `seconds`."""
        shorter = min(seconds, self.request_timeout_seconds)
        return replace(self, security=replace(self.security, request_timeout_seconds=shorter))

    def client_config(self) -> dict[str, str]:
        """Return the options of confluent-kafka that all kinds of clients share."""
        security = self.security
        options = {
            "bootstrap.servers": self.bootstrap,
            "client.id": "penstock",
            "reconnect.backoff.max.ms": _RECONNECT_MILLISECONDS,
            "security.protocol": security.security_protocol,
            "sasl.mechanism": security.sasl_mechanism,
            "sasl.username": security.sasl_username,
            "sasl.password": security.sasl_password,
            "ssl.ca.location": security.ssl_ca,
            "ssl.certificate.location": security.ssl_certificate,
            "ssl.key.location": security.ssl_key,
            "ssl.key.password": security.ssl_key_password,
        }
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in options.items()
            if value is not None
        }
