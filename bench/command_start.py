"""How long `penstock --help` and completion take: what a user feels at every Tab.

The limit is 300 ms at the median. Ends with status 1 when it is missed, so that a heavy import
that crept into the command line is noticed.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.machine import describe_machine

LIMIT_MILLISECONDS = 300
RUNS = 15

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
COMPLETION = {"_PENSTOCK_COMPLETE": "bash_complete", "COMP_WORDS": "penstock to", "COMP_CWORD": "1"}


def main() -> int:
    """Measure both and compare them with the limit."""
    medians = {
        "penstock --help": median_milliseconds([PENSTOCK, "--help"], {}),
        "completion of `penstock to`": median_milliseconds([PENSTOCK], COMPLETION),
    }
    print(describe_machine())
    for what, median in medians.items():
        verdict = "ok" if median <= LIMIT_MILLISECONDS else "too slow"
        print(f"{what:<30} {median:6.0f} ms  (limit {LIMIT_MILLISECONDS} ms: {verdict})")
    return 0 if max(medians.values()) <= LIMIT_MILLISECONDS else 1


def median_milliseconds(command: list[str], variables: dict[str, str]) -> float:
    """Return the median time of `command`; the first run, which fills caches, is not counted."""
    times = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        subprocess.run(
            command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL, check=True
        )
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times[1:])


if __name__ == "__main__":
    sys.exit(main())
