"""A real PostgreSQL server as a child process, for the tests that need a second kind of database.

The server listens on a Unix socket in its own folder: there is no port that could be taken. It
ends with the test run, also when the run is killed.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from support.waiting import eventually

INSTALL_COMMAND = "apt-get install --yes --no-install-recommends postgresql"
SERVER_USER = "postgres"
"""PostgreSQL refuses to run as root; Debian's package creates this user."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server whose clients need no password."""

    folder: Path

    def dsn(self, database: str = "postgres") -> str:
        """Return what `psycopg.connect` takes."""
        return f"host={self.folder} user={SERVER_USER} dbname={database}"

    def create_database(self) -> str:
        """Create an empty database that nobody else uses, and return its dsn."""
        name = f"test_{uuid4().hex}"
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.dsn(name)

    def answers(self) -> bool:
        """Say whether a client can connect."""
        try:
            psycopg.connect(self.dsn()).close()
        except psycopg.OperationalError:
            return False
        return True


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the whole run."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_dsn(postgres: PostgresServer) -> str:
    """An empty database of the test's own."""
    return postgres.create_database()


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server with an empty data folder; stop it and remove the folder at the end."""
    binaries = find_binaries()
    # Not pytest's folder: that one is closed to the server's user, and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="penstock-pg-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, SERVER_USER, SERVER_USER)
        server = _start(binaries, folder)
        try:
            yield PostgresServer(folder)
        finally:
            server.send_signal(signal.SIGINT)  # "fast": SIGTERM would wait for the clients
            server.wait(timeout=20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_binaries() -> Path:
    """Return the folder of `initdb` and `postgres`; fail with the command that installs them."""
    on_path = shutil.which("initdb")
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = [Path(on_path)] if on_path else packaged
    if not found:
        pytest.fail(f"PostgreSQL is not installed; as root: {INSTALL_COMMAND}", pytrace=False)
    return found[-1].parent


def _start(binaries: Path, folder: Path) -> subprocess.Popen[bytes]:
    data, log = folder / "data", folder / "server.log"
    subprocess.run(
        [*_as_server_user(), str(binaries / "initdb"), "-D", str(data), "-A", "trust",
         "-U", SERVER_USER, "--no-sync"],
        check=True, capture_output=True, cwd=folder, env=_environment(),
    )  # fmt: skip
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*_as_server_user(), str(binaries / "postgres"), "-D", str(data),
             "-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}",
             # The tests kill clients, never the machine: nothing has to reach the disk.
             "-c", "fsync=off", "-c", "max_connections=40"],
            stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=_environment(),
        )  # fmt: skip
    started = PostgresServer(folder)
    eventually(lambda: started.answers() or _fail_when_ended(server, log=log), within_seconds=30)
    return server


def _fail_when_ended(server: subprocess.Popen[bytes], *, log: Path) -> bool:
    if server.poll() is not None:
        pytest.fail(f"PostgreSQL did not start:\n{log.read_text()}", pytrace=False)
    return False


def _as_server_user() -> list[str]:
    """Return the prefix that drops root's rights and ends the server when the run dies."""
    if shutil.which("setpriv") is None:
        return []
    until_parent_dies = ["setpriv", "--pdeathsig", "INT"]
    if os.getuid() != 0:
        return until_parent_dies
    return [*until_parent_dies, "--reuid", SERVER_USER, "--regid", SERVER_USER, "--clear-groups"]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
