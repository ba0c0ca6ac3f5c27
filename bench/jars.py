"""What a warm jar cache costs: every command that starts Kafka pays it.

Each run is a new process, as for a user. Measured is `ensure_jars` itself, which reads and hashes
every jar of the Kafka set; starting Python is not counted. The limit is 300 ms at the median. Jars
that are not cached are fetched first.
"""

import statistics
import subprocess
import sys

from bench.machine import describe_machine

from penstock.java import JarSet, ensure_jars
from penstock.settings import load_settings

LIMIT_MILLISECONDS = 300
RUNS = 15

TIMED = """
import time
from penstock.java import JarSet, ensure_jars
from penstock.settings import load_settings

settings = load_settings().java
started = time.perf_counter()
ensure_jars(JarSet.KAFKA, settings)
print((time.perf_counter() - started) * 1000)
"""


def main() -> int:
    """Measure, and compare with the limit."""
    jars = ensure_jars(JarSet.KAFKA, load_settings().java)
    size = sum(jar.stat().st_size for jar in jars)
    times = [warm_milliseconds() for _ in range(RUNS)]
    median = statistics.median(times)
    verdict = "ok" if median <= LIMIT_MILLISECONDS else "too slow"
    print(describe_machine())
    print(
        f"warm cache, {len(jars)} jars, {size / 1e6:.0f} MB: median {median:.0f} ms, "
        f"worst of {RUNS} {max(times):.0f} ms  (limit {LIMIT_MILLISECONDS} ms: {verdict})"
    )
    return 0 if median <= LIMIT_MILLISECONDS else 1


def warm_milliseconds() -> float:
    """Return how long `ensure_jars` took in a new process."""
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
