"""What the operating system says about the cache folder, as errors of ours."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.java.errors import CacheDiskFullError, CacheNotWritableError


@contextmanager
def cache_faults(cache_dir: Path) -> Iterator[None]:
    """Translate what `OSError` says about `cache_dir`.

    Raises:
        CacheDiskFullError: its disk or quota is used up.
        CacheNotWritableError: anything else, with the system's words.
    """
    try:
        yield
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CacheDiskFullError(cache_dir, free_bytes=free_bytes(cache_dir)) from err
        reason = f"{err.strerror} (`{err.filename}`)" if err.filename else str(err.strerror or err)
        raise CacheNotWritableError(cache_dir, reason=reason) from err


def free_bytes(folder: Path) -> int:
    """Return what is free on the disk of `folder`, which need not exist yet."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free
