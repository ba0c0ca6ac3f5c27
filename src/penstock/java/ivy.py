"""Runs Ivy, which ships inside PySpark, and reads what it says.

Ivy gets a folder of its own for everything it writes. What it fetched lies there afterwards; that
it is what was asked for is checked by `cache.py`.
"""

import importlib.util
import os
import re
import selectors
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from penstock.java.coordinates import Coordinate
from penstock.java.errors import IvyNotFoundError, IvySettingsNotFoundError, JarsNotFetchedError
from penstock.java.runtime import Java
from penstock.java.trust import trust_options

SILENCE_LIMIT_SECONDS = 90
"""Ivy reports every module found and every 15 kB fetched; where packets are swallowed it would
try 46 modules for 10 seconds each without a word."""

PID_FILE = "ivy.pid"

# The public repository is Ivy's own default. Its metadata is not needed, because the lock is a
# closed list, nor are its checksums, because the lock has better ones: that is three times faster.
_DIRECT_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="public"/>
  <timeout-constraints>
    <timeout-constraint name="limit" connectionTimeout="10000" readTimeout="60000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="public" m2compatible="true" usepoms="{use_poms}" checksums=""
             timeoutConstraint="limit"/>
  </resolvers>
</ivysettings>
"""
_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_PATTERN = "jars/[organisation]/[module]/[module]-[revision].[ext]"

_FETCHED = re.compile(rb"^\t\[SUCCESSFUL \]", re.MULTILINE)
_UNRESOLVED = re.compile(r"^\s*:: (\S+)#(\S+);(\S+): (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^\s*\[FAILED +\] (\S+)#(\S+);([^!\s]+)!\S+:? (.*) \(\d+ms\)", re.MULTILINE)
_SERVER_FAULT = re.compile(r"^\s*Server access error at url (\S+) \((.+)\)\s*$", re.MULTILINE)


class Closure(Enum):
    """Whether Ivy fetches what is named, or also all that these jars depend on."""

    NAMED = "named"
    TRANSITIVE = "transitive"


@dataclass(frozen=True, slots=True, kw_only=True)
class IvyRun:
    """What one run of Ivy is given. `folder` exists, is empty and belongs to this run."""

    java: Java
    folder: Path
    log: Path
    settings_file: Path | None
    closure: Closure = Closure.NAMED

    @property
    def jars(self) -> Path:
        """The folder with what was fetched, laid out like the cache."""
        return self.folder / "jars"


def fetch(run: IvyRun, wanted: Sequence[Coordinate], fetched: Callable[[int], None]) -> None:
    """Fetch `wanted` into `run.jars`; `fetched` is told the number so far.

    Raises:
        JarsNotFetchedError: some could not be had. It names them, and the file with Ivy's output.
        IvyNotFoundError: PySpark is not installed.
        IvySettingsNotFoundError: the user's settings file does not exist.
    """
    command = _command(run, wanted)
    with run.log.open("wb") as log, _started(command, run.folder) as process:
        silent = _follow(process, log.write, fetched)
    if silent or process.returncode != 0:
        raise _fault(run, wanted, silent=silent)


def find_ivy() -> Path:
    """Return Ivy's jar inside PySpark, without importing PySpark.

    Raises:
        IvyNotFoundError: it is not there.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise IvyNotFoundError(folder=None)
    folder = Path(spec.origin).parent / "jars"
    found = sorted(folder.glob("ivy-*.jar"))
    if not found:
        raise IvyNotFoundError(folder=folder)
    return found[-1]


def proxy_options(environ: Mapping[str, str]) -> list[str]:
    """Return the options that tell Java the proxies which other programs take from variables."""
    options = []
    for scheme in ("http", "https"):
        address = environ.get(f"{scheme}_proxy") or environ.get(f"{scheme.upper()}_PROXY")
        if address:
            parts = urlsplit(address if "//" in address else f"//{address}")
            options.append(f"-D{scheme}.proxyHost={parts.hostname}")
            options.append(f"-D{scheme}.proxyPort={parts.port or 80}")
    direct = environ.get("no_proxy") or environ.get("NO_PROXY")
    if options and direct:
        hosts = (host.strip() for host in direct.split(","))
        patterns = (f"*{host}" if host.startswith(".") else host for host in hosts if host)
        options.append("-Dhttp.nonProxyHosts=" + "|".join(patterns))
    return options


def _command(run: IvyRun, wanted: Sequence[Coordinate]) -> list[str]:
    settings_file = run.settings_file or _write_settings(run)
    if not settings_file.is_file():
        raise IvySettingsNotFoundError(settings_file)
    module = run.folder / "ivy.xml"
    module.write_text(_module(wanted, run.closure), encoding="utf-8")
    settings_option = ["-settings", str(settings_file.absolute()), "-ivy", str(module)]
    # The pattern is relative to the working folder, whose name may contain what Ivy expands.
    fetch_option = ["-cache", "cache", "-retrieve", _PATTERN, "-types", "jar", "bundle"]
    network = [*proxy_options(os.environ), *trust_options(os.environ, run.folder)]
    jvm = [str(run.java.executable), *_JVM_OPTIONS, *network]
    return [*jvm, "-jar", str(find_ivy()), *settings_option, *fetch_option]


def _write_settings(run: IvyRun) -> Path:
    path = run.folder / "ivysettings.xml"
    use_poms = "true" if run.closure is Closure.TRANSITIVE else "false"
    path.write_text(_DIRECT_SETTINGS.format(use_poms=use_poms), encoding="utf-8")
    return path


def _module(wanted: Sequence[Coordinate], closure: Closure) -> str:
    transitive = "true" if closure is Closure.TRANSITIVE else "false"
    lines = (
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.module)} "
        f'rev={quoteattr(jar.version)} conf="default->default" transitive="{transitive}"/>'
        for jar in wanted
    )
    return (
        '<ivy-module version="2.0"><info organisation="penstock" module="jars"/>\n'
        "<dependencies>\n" + "\n".join(lines) + "\n</dependencies></ivy-module>\n"
    )


@contextmanager
def _started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command`; it has ended afterwards, whatever happens inside."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            (folder / PID_FILE).write_text(str(process.pid))
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def _follow(
    process: subprocess.Popen[bytes],
    write: Callable[[bytes], object],
    fetched: Callable[[int], None],
) -> bool:
    """Copy what `process` says until it ends; True when it fell silent instead."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    said = b""
    count = 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(timeout=SILENCE_LIMIT_SECONDS):
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                process.wait()
                return False
            write(chunk)
            said += chunk
            complete, newline, said = said.rpartition(b"\n")
            fresh = len(_FETCHED.findall(complete + newline))
            if fresh:
                count += fresh
                fetched(count)
    return True


def _fault(run: IvyRun, wanted: Sequence[Coordinate], *, silent: bool) -> JarsNotFetchedError:
    text = run.log.read_text(encoding="utf-8", errors="replace")
    problems = [*_UNRESOLVED.findall(text), *_FAILED.findall(text)]
    names = dict.fromkeys(":".join(problem[:3]) for problem in problems)
    server = _SERVER_FAULT.search(text)
    if silent:
        reason = f"no answer for {SILENCE_LIMIT_SECONDS} s"
    elif server is not None:
        reason = f"`{urlsplit(server[1]).netloc}` answered {server[2]}"
    elif problems:
        reason = problems[0][3]
    else:
        reason = "Ivy stopped without naming a jar"
    return JarsNotFetchedError(
        list(names) or [str(jar) for jar in wanted], reason=reason, log=run.log
    )
