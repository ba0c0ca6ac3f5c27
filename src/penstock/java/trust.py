"""Which certificates Java trusts when it fetches: those that the user's other programs trust.

Behind a proxy that opens encrypted connections, `SSL_CERT_FILE` names the authorities for OpenSSL
and all that is built on it, pip included. Java has a list of its own and reads no PEM files, so the
list is written once more in Java's format.
"""

import hashlib
import re
import ssl
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

# Java asks for a password where there is no secret; this is the one it ships its own list with.
PASSWORD = "changeit"  # noqa: S105 - see above

_CERTIFICATE = re.compile(
    "-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", flags=re.DOTALL
)
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_SALT = b"Mighty Aphrodite"


def trust_options(environ: Mapping[str, str], folder: Path) -> list[str]:
    """Return the options that make Java trust what `SSL_CERT_FILE` names; none when it is unset.

    The list is written into `folder`. A file that is missing is ignored, as OpenSSL does.
    """
    bundle = Path(environ.get("SSL_CERT_FILE") or "/nonexistent")
    if not bundle.is_file():
        return []
    blocks = _CERTIFICATE.findall(bundle.read_text(encoding="utf-8", errors="replace"))
    store = folder / "authorities.jks"
    store.write_bytes(key_store([ssl.PEM_cert_to_DER_cert(block) for block in blocks]))
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=JKS"]


def key_store(certificates: Sequence[bytes]) -> bytes:
    """Return a Java key store that trusts `certificates`, each in DER."""
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        # The time of creation means nothing for a list that lives as long as one download.
        content += struct.pack(">I", _TRUSTED) + _text(str(number)) + struct.pack(">q", 0)
        content += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    # The format wants this hash; it guards against accidents and not against people.
    digest = hashlib.sha1(PASSWORD.encode("utf-16-be") + _SALT + content, usedforsecurity=False)
    return content + digest.digest()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")
