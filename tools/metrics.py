"""Write what follows from the catalog of metrics: `docs/metrics.md` and Grafana's dashboard.

metrics.py            write them anew
metrics.py --check    fail when they are not what the catalog says
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from grafana import dashboard

from penstock.monitoring.catalog import NOUNS, Metric

ROOT = Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "deploy" / "grafana" / "penstock.json"
PAGE = ROOT / "docs" / "metrics.md"
MARK = "<!-- From here on written by tools/metrics.py. -->\n"


def main() -> int:
    """Write the files, or compare them."""
    written = {PAGE: page(), DASHBOARD: dashboard()}
    if sys.argv[1:] == ["--check"]:
        old = [
            path
            for path, text in written.items()
            if not path.exists() or path.read_text("utf-8") != text
        ]
        for path in old:
            print(f"{path.relative_to(ROOT)} is not what the catalog says: run tools/metrics.py")
        return 1 if old else 0
    for path, text in written.items():
        path.write_text(text, "utf-8")
    return 0


def page() -> str:
    """Return the page: what people have written, and the tables."""
    by_hand = PAGE.read_text("utf-8").partition(MARK)[0]
    return by_hand + MARK + "".join(line + "\n" for line in _tables())


def _tables() -> Iterator[str]:
    for noun, metrics in NOUNS.items():
        if metrics:
            yield from ("", f"### {noun}", "", "| name | type | unit | labels | meaning |")
            yield "|--|--|--|--|--|"
            yield from (_row(metric) for metric in metrics)


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind} | {metric.unit} | {labels} | {metric.meaning} |"


if __name__ == "__main__":
    sys.exit(main())
