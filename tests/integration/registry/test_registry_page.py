"""The files, commands and programs of `docs/registry.md` do what is printed there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from penstock.local.cluster import KafkaCluster

PAGE = Path(__file__).parents[3] / "docs" / "registry.md"
BLOCK = re.compile(r"^```(json|console|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_what_the_page_shows_is_what_happens(
    kafka: KafkaCluster, registry_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic(f"users-{uuid4().hex[:8]}")
    penstock = PenstockInProcess(
        tmp_path,
        {"PENSTOCK_BOOTSTRAP": kafka.bootstrap, "PENSTOCK_REGISTRY_URL": registry_url},
    )
    (tmp_path / "schemas").mkdir()
    text = PAGE.read_text().replace("users", topic)

    for kind, block in BLOCK.findall(text):
        match kind:
            case "json":
                (tmp_path / "schemas" / f"{topic}-value.avsc").write_text(block)
            case "console":
                for command, expected in commands(block):
                    printed = run(penstock, command)
                    assert [line for line in expected if line not in printed] == [], command
            case "python":
                exec(block, {"registry_url": registry_url})  # noqa: S102 - our own page
    assert capsys.readouterr().out == "[1, 2]\n"


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a block with the lines that follow it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield command, [plain(line) for line in lines]


def run(penstock: PenstockInProcess, command: str) -> list[str]:
    """Run `penstock …` or `echo … | penstock …`, and return what is printed."""
    typed, _, own = command.rpartition(" | ")
    text = f"{shlex.split(typed)[1]}\n" if typed else ""
    done = penstock(*shlex.split(own)[1:], stdin=text)
    return [plain(line) for line in (done.stdout + done.stderr).splitlines()]


def plain(line: str) -> str:
    """Return a line without what differs from run to run: ids, and the width of columns."""
    line = re.sub(r"\bid \d+", "id N", line)
    line = re.sub(r"^(schemas/\S+ +\S+ +\d+) +\d+", r"\1 N", line)
    return re.sub(r" +", " ", line)
