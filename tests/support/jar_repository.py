"""A repository of tiny jars on 127.0.0.1, an Ivy settings file that leads to it, and their lock."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from penstock.java import Coordinate, LockedJar

COORDINATES = (
    Coordinate("org.example", "anvil", "1.0"),
    Coordinate("org.example.deep", "anvil-0-10_2.13", "2.0.0-preview1"),
)


class JarRepository:
    """Serves `jars`; keeps the paths asked for, and holds back those in `withheld`."""

    def __init__(self, folder: Path) -> None:
        self.jars = {
            f"/{jar.organisation.replace('.', '/')}/{jar.module}/{jar.version}/"
            f"{jar.module}-{jar.version}.jar": f"the bytes of {jar}, ".encode() * 5000
            for jar in COORDINATES
        }
        self.fetched: list[str] = []
        self.withheld: set[str] = set()
        self.asked_for_withheld = threading.Event()
        self.release = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        self.settings_file = folder / "ivysettings.xml"
        self.settings_file.write_text(settings_text(self.address))

    def lock(self) -> tuple[LockedJar, ...]:
        """Return the jars with the sums of the bytes served now."""
        sums = [hashlib.sha256(data).hexdigest() for data in self.jars.values()]
        return tuple(map(LockedJar, COORDINATES, sums))

    def path(self, index: int) -> str:
        """Return the path under which the jar with that number is served."""
        return list(self.jars)[index]


def settings_text(root: str) -> str:
    """Return Ivy settings for a mirror at `root`, as a user would write them."""
    return (
        '<ivysettings><settings defaultResolver="mirror"/><resolvers>'
        f'<ibiblio name="mirror" m2compatible="true" root="{root}"/>'
        "</resolvers></ivysettings>"
    )


@contextmanager
def serving(folder: Path) -> Iterator[JarRepository]:
    """Serve a repository from a thread."""
    repository = JarRepository(folder)
    thread = threading.Thread(target=repository.server.serve_forever)
    thread.start()
    try:
        yield repository
    finally:
        repository.release.set()
        repository.server.shutdown()
        thread.join()
        repository.server.server_close()


def write_lock(path: Path, jars: Sequence[LockedJar]) -> Path:
    """Write a lock with one set, for a process that reads it."""
    lines = (f"{jar.coordinate} sha256:{jar.sha256}\n" for jar in jars)
    path.write_text("# a lock for tests\n\n[kafka]\n" + "".join(lines))
    return path


def _handler(repository: JarRepository) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.path = urlsplit(self.path).path
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self.path = urlsplit(self.path).path  # a proxy is asked for whole addresses
            if self.path in repository.jars:
                repository.fetched.append(self.path)
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            data = repository.jars.get(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            if data is None or not with_body:
                return
            if self.path in repository.withheld:
                self.wfile.write(data[:1000])
                self.wfile.flush()
                repository.asked_for_withheld.set()
                repository.release.wait(timeout=60)
                data = data[1000:]
            try:
                self.wfile.write(data)
            except OSError:
                return  # the client was killed, which is the point of withholding

        def log_message(self, format: str, *args: object) -> None:  # noqa: ARG002
            return

    return Handler
