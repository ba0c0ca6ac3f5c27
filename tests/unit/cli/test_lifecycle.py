"""Command lines that make no sense are refused before anybody is asked; there is no Kafka here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control.kept import KeptFolder
from penstock.names import PipelineName
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def penstock(tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(
        tmp_path,
        {
            "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
            "PENSTOCK_BOOTSTRAP": "127.0.0.1:1",
            "PENSTOCK_REQUEST_TIMEOUT_SECONDS": "1",
        },
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["stop"], 2, "error[PEN-930]: missing argument 'PIPELINE'"),
        (
            ["rescale", "shop"],
            2,
            "error[PEN-930]: choose exactly one of --cores, --min-partitions and "
            "--shuffle-partitions",
        ),
        (
            ["rescale", "shop", "--cores", "2", "--min-partitions", "3"],
            2,
            "error[PEN-930]: choose exactly one of --cores, --min-partitions and "
            "--shuffle-partitions",
        ),
        (
            ["rescale", "shop", "--cores", "2", "--flow", "clean"],
            2,
            "error[PEN-930]: --cores are shared by all flows: leave --flow out",
        ),
        (
            ["rescale", "shop", "--min-partitions", "2"],
            2,
            "error[PEN-930]: name the flow: --flow NAME",
        ),
        (["rescale", "shop", "--cores", "0"], 2, "error[PEN-235]: "),
        (
            ["log-level", "shop", "root", "debug", "--for", "0"],
            2,
            "error[PEN-235]: ",
        ),
        (
            ["log-level", "shop", "root", "dbug"],
            2,
            "error[PEN-235]: ",
        ),
        (
            ["log-level", "shop", "no such", "debug"],
            2,
            "error[PEN-235]: ",
        ),
        (
            ["kill", "shop", "--wait", "long"],
            2,
            "error[PEN-930]: invalid value for '--wait': 'long' is not a length of time; write "
            "30s, 10m, 6h or 7d",
        ),
        (
            ["logs", "shop"],
            2,
            "error[PEN-963]: this machine has no log of a pipeline `shop`",
        ),
        (["logs", "shop", "-n", "-1"], 2, "error[PEN-930]: invalid value for '-n' / '--lines'"),
    ],
)
def test_wrong_arguments_are_named(
    penstock: PenstockInProcess, arguments: list[str], status: int, message: str
) -> None:
    done = penstock(*arguments)

    assert (done.status, done.stdout) == (status, "")
    assert done.stderr.startswith(message)


@pytest.mark.parametrize("command", [["list"], ["show", "shop"], ["pause", "shop"]])
def test_without_kafka_that_is_what_commands_say(
    penstock: PenstockInProcess, command: list[str]
) -> None:
    done = penstock(*command)

    assert done.status == 1
    assert done.stderr.startswith("error[PEN-401]: ")


def test_a_folder_without_a_project_is_not_started(penstock: PenstockInProcess) -> None:
    done = penstock("start")

    assert done.status == 2
    assert done.stderr.startswith("error[PEN-101]: ")


def test_logs_are_the_last_lines_for_people_or_programs(penstock: PenstockInProcess) -> None:
    folder = KeptFolder.of(penstock.folder / "data", PipelineName("shop"))
    folder.root.mkdir(parents=True)
    folder.log.write_text("2026-05-01T12:00:00Z one\n2026-05-01T12:00:01Z two\n")

    assert penstock("logs", "shop", "-n", "1").stdout == "2026-05-01T12:00:01Z two\n"
    assert penstock("logs", "shop", "--json", "-n", "1").json == {
        "at": "2026-05-01T12:00:01Z",
        "text": "two",
    }
    assert "did you mean `shop`?" in penstock("logs", "shpo").stderr
