"""What Python workers on this machine are forked from: PySpark's daemon, with the imports done.

Spark ends workers that had nothing to do for a minute, and a new one would import for half a
second before it writes its first record. Workers that are forked from here have what lanes need
already.

Nothing that is imported here may start a thread or open a connection: a fork has neither.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module

MODULES = ("pyspark.worker", "penstock.engine.exactly_once.tasks")
"""What workers import before their first record."""


def main() -> None:
    """Import, then fork workers until Spark ends."""
    # Arrow's second-best allocator would start a thread, and is not used.
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    for module in MODULES:
        import_module(module)
    # Workers look for garbage after every task: not among what is imported.
    gc.freeze()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
