"""Fingerprints of Avro schemas, as the specification's single-object encoding has them."""

import json

from fastavro.schema import fingerprint as of_canonical_form
from fastavro.schema import to_parsing_canonical_form


def fingerprint(text: str) -> bytes:
    """Return the CRC-64-AVRO of a schema without references, in the order of its bytes in data."""
    canonical = to_parsing_canonical_form(json.loads(text))
    return bytes.fromhex(of_canonical_form(canonical, "CRC-64-AVRO"))
