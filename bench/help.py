"""How long `penstock --help` and completion take: the median of ten runs, and a limit.

Run it with `python bench/help.py`. It ends with status 1 when a median is above the limit.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT_SECONDS = 0.3  # above this, a command line feels slow
RUNS = 10
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
COMPLETION = {
    "_PENSTOCK_COMPLETE": "bash_complete",
    "COMP_WORDS": "penstock gr",
    "COMP_CWORD": "1",
}


def median_seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Run the command ten times and return the median of the times."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run(
            [PENSTOCK, *arguments],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> int:
    """Measure, print, and return the exit status."""
    medians = {
        "penstock --help": median_seconds(["--help"], {}),
        "penstock topics --help": median_seconds(["topics", "--help"], {}),
        "completion of `penstock gr`": median_seconds([], COMPLETION),
    }
    for name, seconds in medians.items():
        print(f"{name}: {seconds * 1000:.0f} ms (median of {RUNS})")
    return int(max(medians.values()) > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
