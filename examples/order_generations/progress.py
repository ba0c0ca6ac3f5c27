"""Prints which consumer groups read which generation of orders, and how far behind they are.

The status is 1 while a group still reads the first one. How much is still written to it is in the
topic `order-writers`.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

OLD, NEW = "orders-v1", "orders-v2"


def asked(*arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Return what a `penstock groups` command tells."""
    command = ["penstock", "groups", *arguments, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def lags(groups: Sequence[Mapping[str, Any]], topics: Sequence[str]) -> dict[str, list[int | None]]:
    """Return how far each group is behind in each topic; None: it does not read that one."""
    found: dict[str, list[int | None]] = {}
    for group in groups:
        lag = [
            [item["lag"] or 0 for item in group["partitions"] if item["topic"] == topic]
            for topic in topics
        ]
        if any(lag):
            found[group["group"]] = [sum(numbers) if numbers else None for numbers in lag]
    return found


def main(old: str = OLD, new: str = NEW) -> int:
    """Print a line for each group, and how many are still there."""
    names = [group["group"] for group in asked("list")]
    found = lags(asked("describe", *names) if names else [], (old, new))
    print(f"{'GROUP':40} {'BEHIND IN V1':>12} {'BEHIND IN V2':>12}")
    for name, (behind_old, behind_new) in sorted(found.items()):
        shown = ["-" if lag is None else str(lag) for lag in (behind_old, behind_new)]
        print(f"{name:40} {shown[0]:>12} {shown[1]:>12}")
    remaining = sum(1 for behind_old, _ in found.values() if behind_old is not None)
    print(f"{remaining} of {len(found)} groups read {old}")
    return 1 if remaining else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
