import sys
from pathlib import Path

import pytest

from penstock.java import IvyNotFoundError
from penstock.java.ivy import find_ivy, proxy_options


@pytest.mark.parametrize(
    ("environ", "options"),
    [
        pytest.param({}, [], id="no proxy"),
        pytest.param({"NO_PROXY": "localhost"}, [], id="exceptions alone mean nothing"),
        pytest.param(
            {"HTTPS_PROXY": "http://user:secret@proxy.example:3128", "NO_PROXY": ".example, a.b"},
            [
                "-Dhttps.proxyHost=proxy.example",
                "-Dhttps.proxyPort=3128",
                "-Dhttp.nonProxyHosts=*.example|a.b",
            ],
            id="credentials stay out of the command line",
        ),
        pytest.param(
            {"http_proxy": "proxy.example", "HTTP_PROXY": "other.example:1"},
            ["-Dhttp.proxyHost=proxy.example", "-Dhttp.proxyPort=80"],
            id="lower case wins, a bare host is enough",
        ),
    ],
)
def test_java_is_told_the_proxies_of_the_environment(
    environ: dict[str, str], options: list[str]
) -> None:
    assert proxy_options(environ) == options


def test_ivy_is_found_without_importing_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)

    assert find_ivy().name == "ivy-2.5.3.jar"
    assert "pyspark" not in sys.modules


def test_without_pyspark_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    with pytest.raises(IvyNotFoundError) as caught:
        find_ivy()

    assert caught.value.message.endswith("PySpark is not installed")


def test_a_pyspark_without_ivy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "pyspark"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(IvyNotFoundError) as caught:
        find_ivy()

    assert f"`{package / 'jars'}` has no Ivy" in caught.value.message
