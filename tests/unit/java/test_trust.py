from pathlib import Path

import pytest

from penstock.java.trust import trust_options


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="unset"),
        pytest.param({"SSL_CERT_FILE": ""}, id="empty"),
        pytest.param({"SSL_CERT_FILE": "/nonexistent/authorities.pem"}, id="missing file"),
    ],
)
def test_java_keeps_its_own_authorities_when_none_are_named(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    assert trust_options(environ, tmp_path) == []
    assert list(tmp_path.iterdir()) == []
