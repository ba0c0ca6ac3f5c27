"""Secrets of the settings never reach a sentence that others can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control import cleaner
from penstock.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.control.status_fold import Clean

SETTINGS = """
[profiles.local]
security_protocol = "SASL_SSL"
sasl_mechanism = "PLAIN"
sasl_username = "clerk"
sasl_password = "hunter2"
ssl_key_password = "hunter2-and-more"

[spark.conf]
"spark.hadoop.fs.s3a.secret.key" = "AKIA-very-secret"
"spark.sql.shuffle.partitions" = 1234567
"spark.some.token" = "abc"
"""


@pytest.fixture
def clean(tmp_path: Path) -> Clean:
    (tmp_path / "penstock.toml").write_text(SETTINGS)
    return cleaner(load_settings(start=tmp_path))


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("user `clerk` with `hunter2` was refused", "user `clerk` with `********` was refused"),
        ("the key hunter2-and-more does not open it", "the key ******** does not open it"),
        ("s3a refused AKIA-very-secret", "s3a refused ********"),
        ("1234567 partitions", "1234567 partitions"),
        ("abc is too short to be told from words", "abc is too short to be told from words"),
    ],
)
def test_secrets_are_masked_and_nothing_else(clean: Clean, sentence: str, told: str) -> None:
    assert clean(sentence) == told
