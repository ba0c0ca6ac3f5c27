"""`penstock demo --keep`: what is checked goes on, and can be reached by commands."""

from __future__ import annotations

import json
import signal
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from support.commands import Penstock

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.long
@pytest.mark.timeout(500)
def test_a_demonstration_that_is_kept_can_be_looked_at_and_leaves_nothing(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w") as errors:
        demo = Penstock(tmp_path, {"TMPDIR": str(tmp_path)}).start(
            *("demo", "--keep", "--rate", "200", "--seconds", "5", "--json"), stderr=errors
        )
    assert demo.stdout is not None
    told: dict[str, Any] = {}
    while "kept" not in told:
        line = demo.stdout.readline()
        assert line, (tmp_path / "errors").read_text()
        told |= json.loads(line)
    penstock = Penstock(tmp_path, told["kept"]["environment"])
    shown = penstock("show", "fraud", "--json").json
    with urllib.request.urlopen(f"{told['kept']['console']}/health", timeout=30) as answer:  # noqa: S310
        answered = answer.status

    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=120)

    assert {check["holds"] for check in told["result"]["checks"]} == {True}
    assert (shown["state"], answered, demo.returncode) == ("running", 200, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["errors"]
