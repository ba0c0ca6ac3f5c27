"""What all sampling costs on an idle platform, as `penstock up` starts it.

One broker with its exporter, a registry, and the console, which alone samples; nobody looks at its
pages. The console is halted and let go on in turn, so that what it makes the others do is told
apart from what they do anyway. Shares are of one core. A platform with a pipeline has nothing to
add: the console reads what drivers publish whether or not anybody reads it, and asks them nothing.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.machine import describe_machine

from penstock.local.processes import end_processes, find_processes
from penstock.local.web_part import CONSOLE, MODULES, REGISTRY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import psutil

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
NAME = "bench-idle"
WARM_UP_SECONDS = 90.0
"""Until the broker's JVM has compiled what an idle one runs, and the console knows its ends."""

SETTLE_SECONDS = 5.0
WINDOW_SECONDS = 40.0
PAIRS = 5
LIMIT_PERCENT = 1.0

BROKER, SUPERVISOR = "broker", "supervisor"

Shares = dict[str, float]
"""Percent of one core, by process."""


def main() -> int:
    """Measure, print, and fail when sampling costs too much."""
    print(describe_machine())
    with idle_platform() as processes:
        time.sleep(WARM_UP_SECONDS)
        pairs = []
        for _ in range(PAIRS):
            attached = shares(processes)
            processes[CONSOLE].suspend()
            try:
                alone = shares(processes)
            finally:
                processes[CONSOLE].resume()
            pairs.append((attached, alone))
            print(f"  with the console: {told(attached)}; without: {told(alone)}", flush=True)
        memory = processes[CONSOLE].memory_info().rss / 1e6
    costs = [cost(attached, alone) for attached, alone in pairs]
    total = statistics.median(costs)
    own = statistics.median(attached[CONSOLE] for attached, _ in pairs)
    print(
        f"sampling: {total:.2f} % of a core (limit {LIMIT_PERCENT:g} %), "
        f"from {min(costs):.2f} to {max(costs):.2f}; of that the console itself {own:.2f} %; "
        f"its memory {memory:.0f} MB; load afterwards {os.getloadavg()[0]:.1f}"
    )
    return 0 if total <= LIMIT_PERCENT else 1


@contextmanager
def idle_platform() -> Iterator[Mapping[str, psutil.Process]]:
    """Start a platform of its own with free ports; yield its processes, and end them."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "data" / "platforms" / NAME
        environment = {
            **os.environ,
            "PENSTOCK_PLATFORM_DATA_DIR": str(Path(folder) / "data"),
            "PENSTOCK_PLATFORM_NAME": NAME,
            "PENSTOCK_PLATFORM_PORT": "0",
        }
        try:
            started = subprocess.run(
                [PENSTOCK, "up", "--json"],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            if not json.loads(started.stdout)["running"]:
                sys.exit(started.stderr)
            yield named(find_processes(root))
        finally:
            end_processes(find_processes(root))


def named(processes: list[psutil.Process]) -> dict[str, psutil.Process]:
    """Return the processes of a platform by what they are."""
    found = {}
    for process in processes:
        words = process.cmdline()
        web = next((name for name, module in MODULES.items() if module in words), None)
        found[web or (BROKER if "java" in Path(words[0]).name else SUPERVISOR)] = process
    return {name: found[name] for name in (CONSOLE, BROKER, REGISTRY, SUPERVISOR)}


def shares(processes: Mapping[str, psutil.Process]) -> Shares:
    """Return what each process computes in a while, as percent of a core."""
    time.sleep(SETTLE_SECONDS)
    before, began = cpu_seconds(processes), time.perf_counter()
    time.sleep(WINDOW_SECONDS)
    after, taken = cpu_seconds(processes), time.perf_counter() - began
    return {name: 100 * (after[name] - before[name]) / taken for name in processes}


def cpu_seconds(processes: Mapping[str, psutil.Process]) -> Shares:
    """Return what each process has computed until now."""
    times = {name: process.cpu_times() for name, process in processes.items()}
    return {name: each.user + each.system for name, each in times.items()}


def cost(attached: Shares, alone: Shares) -> float:
    """Return what the console takes, with what it makes the others do."""
    return sum(attached.values()) - sum(alone.values())


def told(found: Shares) -> str:
    """Return the shares as they are printed."""
    return ", ".join(f"{name} {share:.2f}" for name, share in found.items()) + " %"


if __name__ == "__main__":
    sys.exit(main())
