"""What follows from the catalog of metrics is as it says."""

import json
import re
import subprocess
import sys
from pathlib import Path

from penstock.monitoring.catalog import SERIES, MetricName

ROOT = Path(__file__).resolve().parents[3]
DASHBOARD = ROOT / "deploy" / "grafana" / "penstock.json"
NAME = re.compile(r"\b(?:penstock|kafka)_[a-z_]+")
LABEL = re.compile(r'[{,](\w+)=~?"')


def test_the_files_made_from_the_catalog_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/metrics.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_grafanas_dashboard_asks_only_for_metrics_and_labels_of_the_catalog() -> None:
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    asked += [
        variable["definition"]
        for variable in dashboard["templating"]["list"]
        if "definition" in variable
    ]
    names = [NAME.findall(expression) for expression in asked]
    unknown_labels = [
        (expression, label)
        for expression, (name, *_) in zip(asked, names, strict=True)
        for label in LABEL.findall(expression)
        if label not in SERIES[MetricName(name)].series[MetricName(name)]
    ]

    assert len(asked) > 30
    assert {name for found in names for name in found} <= set(SERIES)
    assert all(names)
    assert unknown_labels == []


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels)
