"""Small text files on any file system that Hadoop knows: a disk, `s3a://`, `hdfs://`.

Checkpoints and our own files beside them live there. Reading and writing goes through the file
manager that Spark uses for its checkpoints: a file is replaced as a whole or not at all, by the
means that its file system has, and with the checksum files that some of them keep.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from py4j.protocol import Py4JJavaError

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from pyspark.sql import SparkSession

_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager"

_REFUSALS = (
    "AccessControlException",
    "AccessDeniedException",
    "FileAlreadyExistsException",
    "InvalidPathException",
    "ParentNotDirectoryException",
    "UnsupportedFileSystemException",
)
"""Java's ways to say that trying again will not help."""

# Where Java has no class for it: a folder that a disk refused, a file system without its jar.
_REFUSAL_TEXTS = ("Permission denied", "mkdir of ", "ClassNotFoundException")


class StorageError(PenstockError):
    """A file of a checkpoint cannot be read or written."""

    def __init__(self, action: str, path: str, reason: str) -> None:
        super().__init__(f"cannot {action} `{path}`: {reason}", hint=self._hint)
        self.path = path

    _hint: ClassVar[str]


class StorageRefusedError(StorageError):
    """The file system does not let this user do that, or there is no such file system."""

    code = "PEN-340"
    _hint = "make the place writable, or choose another with `checkpoint_root`"


class StorageFaultError(StorageError):
    """The file system failed: it is full, damaged or cannot be reached."""

    code = "PEN-341"
    retryable = True
    _hint = "see that the place can be reached and has free space"


class Storage:
    """The files below `root`, a path or URI. Names of files are relative to it."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._jvm: Any = spark.sparkContext._gateway.jvm  # type: ignore[union-attr]  # noqa: SLF001 - Hadoop is Java's; a session has a gateway
        self._hadoop = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        self.root = self._qualified(root)

    def path(self, name: str) -> str:
        """Return the full name of a file."""
        return f"{self.root}/{name}" if name else self.root

    def read_text(self, name: str) -> str | None:
        """Return the content of a text file; None when there is none.

        Raises:
            StorageError: it cannot be read.
        """
        content = self.read_bytes(name)
        return None if content is None else content.decode()

    def read_bytes(self, name: str) -> bytes | None:
        """Return the content of a file; None when there is none.

        Raises:
            StorageError: it cannot be read.
        """
        with self._explained("read", self.path(name)):
            manager, path = self._manager(), self._path(name)
            if not manager.exists(path):
                return None
            stream = manager.open(path)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Write a text file, replacing what it held; readers see the old or the new content.

        Raises:
            StorageError: it cannot be written.
        """
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file, replacing what it held; readers see the old or the new content.

        Raises:
            StorageError: it cannot be written.
        """
        with self._explained("write", self.path(name)):
            self._write(name, content, True)  # noqa: FBT003 - as Java has it

    def create_text(self, name: str, text: str) -> bool:
        """Write a text file if there is none of that name; return whether there was none.

        Raises:
            StorageError: it cannot be written.
        """
        with self._explained("create", self.path(name)):
            try:
                self._write(name, text.encode(), False)  # noqa: FBT003 - as Java has it
            except Py4JJavaError:
                if not self.exists(name):
                    raise
                return False
            return True

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder, in order and without hidden ones; none if it is absent.

        Raises:
            StorageError: it cannot be listed.
        """
        with self._explained("list", self.path(folder)):
            manager, path = self._manager(), self._path(folder)
            if not manager.exists(path):
                return ()
            found = [str(status.getPath().getName()) for status in manager.list(path)]
        return tuple(sorted(name for name in found if not name.startswith(".")))

    def delete(self, name: str) -> None:
        """Delete a file and its checksum, or a folder; safe to repeat.

        Raises:
            StorageError: it cannot be deleted.
        """
        with self._explained("delete", self.path(name)):
            self._manager().delete(self._path(name))

    def exists(self, name: str) -> bool:
        """Whether there is a file or folder of that name.

        Raises:
            StorageError: that cannot be told.
        """
        with self._explained("look for", self.path(name)):
            return bool(self._manager().exists(self._path(name)))

    def _write(self, name: str, content: bytes, replaces: bool) -> None:  # noqa: FBT001 - as Java has it
        manager, path = self._manager(), self._path(name)
        manager.mkdirs(path.getParent())
        stream = manager.createAtomic(path, replaces)
        try:
            stream.write(bytearray(content))
            stream.close()
        except Py4JJavaError:
            stream.cancel()
            raise

    def _qualified(self, root: str) -> str:
        with self._explained("use", root):
            path = self._jvm.org.apache.hadoop.fs.Path(root)
            return str(path.getFileSystem(self._hadoop).makeQualified(path)).rstrip("/")

    def _path(self, name: str) -> Any:  # noqa: ANN401 - an object of Java
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name))

    def _manager(self) -> Any:  # noqa: ANN401 - an object of Java
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        # Scala's companion object, which Java sees as a field of a class.
        companion = self._jvm.java.lang.Class.forName(f"{_MANAGER}$", True, loader)  # noqa: FBT003
        return companion.getField("MODULE$").get(None).create(self._path(""), self._hadoop)

    @contextmanager
    def _explained(self, action: str, path: str) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as err:
            raise storage_error(action, path, err) from err


def storage_error(action: str, path: str, err: Py4JJavaError) -> StorageError:
    """Return our error for what Java's file system said."""
    fault = err.java_exception
    kind = str(fault.getClass().getSimpleName())
    reason = str(fault.getMessage() or kind).splitlines()[0]
    refused = is_refusal({kind}, reason)
    return (StorageRefusedError if refused else StorageFaultError)(action, path, reason)


def is_refusal(kinds: AbstractSet[str], message: str) -> bool:
    """Whether an exception of one of these Java classes says that trying again will not help."""
    return not kinds.isdisjoint(_REFUSALS) or any(text in message for text in _REFUSAL_TEXTS)
