"""protoc, kept running in a child process and given a folder of files at a time.

A child, because protoc trusts its input: options nested 100,000 levels deep overflow its stack,
and 100,000 reserved numbers keep it busy for half a minute. The child may crash or be killed; the
next schema gets a new one. It is kept between schemas, because starting one takes 50 ms and
compiling a schema one.

protoc sees a temporary folder with the files it is given, and what is bundled: Google's well-known
types, `google/type` and Confluent's two files. Nothing else on the disk can be imported.
"""

import atexit
import json
import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import psutil
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.protobuf.errors import CompilerUnavailableError

CPU_LIMIT_SECONDS = 1.0
"""For one schema. Ordinary ones take a millisecond, a megabyte of fields half a second."""

WAIT_LIMIT_SECONDS = 10.0
"""How long to wait for it: a busy machine gives protoc its second of work late."""

START_LIMIT_SECONDS = 30.0
"""For the child to import protoc, on a machine that is busy with other things."""

MAX_ERROR_BYTES = 64 * 1024
"""How much of protoc's output is read: it can repeat one mistake for each level of nesting."""

_PROBLEM = re.compile(r"^(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): (?P<message>.+)$")
_LOG_LINE = re.compile(r"^(WARNING: All log messages|[IWEF]\d{4} |\*\*\* )")
_LOGGED_ERROR = re.compile(r"^E\d{4} [^\]]+\] (?P<said>.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to compile: its text or, when it came in serialized form, its descriptor."""

    name: str
    content: str | FileDescriptorProto


class Compiler:
    """protoc in a child process. All threads share it, one schema at a time."""

    def __init__(self, cpu_limit_seconds: float = CPU_LIMIT_SECONDS) -> None:
        self._cpu_limit_seconds = cpu_limit_seconds
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def compile(self, root: Source, imports: Sequence[Source]) -> tuple[FileDescriptorProto, ...]:
        """Return the descriptors of `root` and of all it imports: imports first, `root` last.

        Raises:
            InvalidSchemaError: protoc refuses the file, or does not get through with it.
            CompilerUnavailableError: protoc cannot be started.
        """
        with TemporaryDirectory(prefix="penstock-protoc-") as name:
            folder = Path(name)
            given = folder / "given"
            given.mkdir()
            _write(given, folder / "serialized", [root, *imports])
            arguments = _arguments(folder, root.name)
            with self._lock:
                failure = self._failure(arguments, folder / "errors")
            if failure:
                refusal = _refusal(_errors(folder), root.name)
                raise refusal or InvalidSchemaError(reason=failure)
            compiled = (folder / "compiled").read_bytes()
        return tuple(FileDescriptorSet.FromString(compiled).file)

    def close(self) -> None:
        """End the child; the next schema would start another."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            _end(process)

    def _failure(self, arguments: Sequence[str], errors: Path) -> str | None:
        """Run protoc and return what became of it; nothing if it did what it should."""
        process = self._running()
        request = json.dumps({"arguments": arguments, "errors": str(errors)}) + "\n"
        try:
            status = _ask(process, request.encode(), self._cpu_limit_seconds)
        except TimeoutError:
            self.close()
            limit = f"{self._cpu_limit_seconds:g} s"
            return f"protoc did not get through the schema within {limit}"
        except BrokenPipeError:
            self.close()
            return "protoc crashes on the schema: its options are nested too deep"
        except BaseException:
            self.close()  # whoever asks next must not get the answer to this
            raise
        return None if status == "0" else "protoc refuses the schema"

    def _running(self) -> subprocess.Popen[bytes]:
        # After a fork the child of the child answers to somebody else.
        usable = self._owner == os.getpid() and self._process and self._process.poll() is None
        if self._process is None or not usable:
            self.close()
            self._process = _start()
            self._owner = os.getpid()
        return self._process


@cache
def shared_compiler() -> Compiler:
    """Return the compiler of this process; it ends with it."""
    compiler = Compiler()
    atexit.register(compiler.close)
    return compiler


@cache
def bundled_folders() -> dict[str, Path]:
    """Return the folders that can always be imported from, by the path they have in imports."""
    own = Path(__file__).parent / "bundled"
    folders = {"confluent": own / "confluent"}
    for package, inside in (("grpc_tools", "_proto/google/protobuf"), ("google.type", "")):
        spec = find_spec(package)
        for location in spec.submodule_search_locations or () if spec else ():
            folder = Path(location) / inside
            folders["google/protobuf" if inside else "google/type"] = folder
    return folders


def is_bundled(name: str) -> bool:
    """Return whether imports of `name` find a bundled file."""
    return any(
        name.startswith(f"{prefix}/") and (folder / name.removeprefix(f"{prefix}/")).is_file()
        for prefix, folder in bundled_folders().items()
    )


def _start() -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("protoc_process.py")
    process = subprocess.Popen(
        [sys.executable, "-P", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for whoever started us
    )
    try:
        _line(process, START_LIMIT_SECONDS)
    except (TimeoutError, BrokenPipeError) as error:
        _end(process)
        raise CompilerUnavailableError(status=process.returncode) from error
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


def _ask(process: subprocess.Popen[bytes], request: bytes, cpu_limit_seconds: float) -> str:
    if process.stdin is None:
        raise BrokenPipeError
    child = psutil.Process(process.pid)
    limit = _cpu_seconds(child) + cpu_limit_seconds
    deadline = time.monotonic() + WAIT_LIMIT_SECONDS
    os.write(process.stdin.fileno(), request)
    while True:
        try:
            return _line(process, cpu_limit_seconds / 10)
        except TimeoutError:
            if time.monotonic() > deadline or _cpu_seconds(child) > limit:
                raise


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess as error:
        raise BrokenPipeError from error
    return float(times.user + times.system)


def _line(process: subprocess.Popen[bytes], limit_seconds: float) -> str:
    """Return the next line from the child.

    Raises:
        TimeoutError: there was none in time.
        BrokenPipeError: the child has ended.
    """
    if process.stdout is None:
        raise BrokenPipeError
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(limit_seconds):
            raise TimeoutError
    # A line is short and written at once, so that one read gets all of it.
    line = os.read(process.stdout.fileno(), 100)
    if not line:
        raise BrokenPipeError
    return line.decode().strip()


def _write(folder: Path, serialized: Path, sources: Sequence[Source]) -> None:
    descriptors = FileDescriptorSet()
    for source in sources:
        if isinstance(source.content, str):
            _write_text(folder / source.name, source)
        else:
            file = descriptors.file.add()
            file.CopyFrom(source.content)
            file.name = source.name
    serialized.write_bytes(descriptors.SerializeToString())


def _write_text(path: Path, source: Source) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(source.content), encoding="utf-8", newline="")
    except UnicodeEncodeError as error:
        reason = f"`{source.name}` has half of a surrogate pair at character {error.start + 1}"
        raise InvalidSchemaError(reason=reason) from error
    except OSError as error:
        reason = f"`{source.name}` cannot be a file beside the other references"
        raise InvalidSchemaError(reason=reason) from error


def _arguments(folder: Path, root: str) -> list[str]:
    bundled = [f"--proto_path={prefix}={path}" for prefix, path in bundled_folders().items()]
    return [
        f"--proto_path=={folder / 'given'}",  # without a path before it in imports
        *bundled,
        f"--descriptor_set_in={folder / 'serialized'}",
        f"--descriptor_set_out={folder / 'compiled'}",
        "--include_imports",
        "--retain_options",
        root,
    ]


def _errors(folder: Path) -> list[str]:
    """Return what protoc complained of, without warnings and without paths of this machine."""
    errors = folder / "errors"
    if not errors.exists():
        return []
    with errors.open("rb") as file:
        text = file.read(MAX_ERROR_BYTES).decode(errors="replace")
    lines = text.replace(f"{folder / 'given'}/", "").splitlines()
    logged = [match["said"] for match in map(_LOGGED_ERROR.match, lines) if match]
    told = [line for line in lines if ": warning: " not in line and not _LOG_LINE.match(line)]
    return told + logged


def _refusal(lines: Sequence[str], root: str) -> InvalidSchemaError | None:
    """Return the first error that has a place; what follows is often a consequence of it."""
    for match in map(_PROBLEM.match, lines):
        if match:
            reason = _sentence(match["message"])
            if match["file"] != root:
                reason = f"in reference `{match['file']}`: {reason}"
            return InvalidSchemaError(reason=reason, path=f"{match['line']}:{match['column']}")
    for line in lines:
        return InvalidSchemaError(reason=_sentence(line.removeprefix(f"{root}: ")))
    return None


def _sentence(message: str) -> str:
    text = message.strip().removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
