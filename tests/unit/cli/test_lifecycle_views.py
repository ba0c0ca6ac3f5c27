"""What commands show of pipelines, in full."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from penstock.cli.lifecycle_views import (
    command_payload,
    log_line,
    overview_payload,
    print_list,
    print_overview,
    print_started,
)
from penstock.cli.rendering import show
from penstock.control.commands import Kill
from penstock.control.kept import KeeperState
from penstock.control.overviews import overview_of
from penstock.control.status_records import PipelineState
from penstock.names import FlowName
from support.overviews import NOON, SHOP, kept, seen

if TYPE_CHECKING:
    from penstock.control.detached import KeptPipeline
    from penstock.control.fleet import PipelineView
    from penstock.control.overviews import Overview

MOMENT = f"{NOON.astimezone():%Y-%m-%d %H:%M:%S}"


def overview(view: PipelineView | None, here: KeptPipeline | None = None) -> Overview:
    found = overview_of(view, here)
    assert found is not None
    return found


RUNNING = overview(seen(PipelineState.RUNNING), kept(KeeperState.RUNNING))
LOST = overview(seen(PipelineState.LOST, why="no sign of life for 20 s"))


def lines(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines()]


def test_the_list_has_a_line_per_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    print_list([RUNNING])

    assert lines(capsys.readouterr().out) == [
        "PIPELINE STATE SINCE FLOWS IN/S LAG DRIVER CODE",
        f"shop running {MOMENT} 1/2 1.2k 70 node-1:4711 0123456789ab",
    ]


def test_the_list_says_what_to_do_about_what_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    print_list([LOST])

    printed = capsys.readouterr()
    assert lines(printed.out)[1] == f"shop lost {MOMENT} 0/2 - 70 node-1:4711 0123456789ab"
    assert printed.err == (
        "`shop` is lost: no sign of life for 20 s; look for process 4711 on `node-1`; `penstock "
        "start` in its project takes over, and goes on where it was\n"
    )


def test_a_pipeline_whose_driver_has_told_nothing_is_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_list([overview(None, kept(KeeperState.STARTING))])

    assert lines(capsys.readouterr().out)[1] == f"shop starting {MOMENT} 0/0 - - - -"


def test_a_running_pipeline_is_shown_with_all_that_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_overview(RUNNING)

    heading, *rest = lines(capsys.readouterr().out)
    assert heading.startswith(f"`shop` is running since {MOMENT} (")
    assert rest == [
        f"driver process 4711 on node-1, since {MOMENT}",
        "code 0123456789ab",
        "profile local",
        "Spark local-1, http://127.0.0.1:4040",
        "health http://127.0.0.1:8080",
        "keeper process 12 on this machine, 1 restart",
        f"last exit {MOMENT}: killed by SIGKILL",
        "log /data/pipelines/shop/log",
        "Java's log /data/logs/shop.log",
        "",
        "FLOW STATE SINCE IN/S OUT/S LAG BEHIND BATCH TOOK IN OUT DEAD DUPLICATES "
        "RESTARTS WATERMARK",
        f"clean running {MOMENT} 1.2k 12 70 250ms 7 500ms 5000 50 2 3 1 {MOMENT}",
        f"count paused {MOMENT} 0 - - - - - 0 - 0 0 0 -",
        f"clean: waits for a transaction that is open since {MOMENT}, 60 records behind it",
        "clean: writes `cleaned` exactly once",
        f"clean: last error [PEN-347] it raised at {MOMENT}",
    ]


def test_a_pipeline_between_two_drivers_is_shown_with_its_next_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    waiting = kept(KeeperState.WAITING, driver_pid=None, why="killed by SIGKILL")
    print_overview(overview(seen(PipelineState.RUNNING), waiting))

    heading, *rest = lines(capsys.readouterr().out)
    assert heading.startswith("`shop` is restarting since ")
    assert heading.endswith(": killed by SIGKILL")
    assert f"next start {MOMENT}" in rest


def test_a_lost_pipeline_is_shown_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    print_overview(LOST)

    heading, advice, *_ = lines(capsys.readouterr().out)
    assert heading.endswith(": no sign of life for 20 s")
    assert advice.startswith("what to do: look for process 4711 on `node-1`; ")


@pytest.mark.parametrize(
    ("keeper", "words"),
    [
        (kept(KeeperState.FAILED, is_kept=False), "keeper ended, 1 restart"),
        (kept(KeeperState.RUNNING, is_kept=False), "keeper died, 1 restart"),
    ],
)
def test_the_end_of_a_keeper_is_shown(
    keeper: KeptPipeline, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_overview(overview(None, keeper))

    assert words in lines(capsys.readouterr().out)


def test_a_start_teaches_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    print_started(RUNNING)

    first, *_, last = lines(capsys.readouterr().out)
    assert first == "`shop` is running: clean, count"
    assert last == "next: penstock show shop, penstock logs shop -f, penstock stop shop"


def test_programs_find_all_of_it_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    show(overview_payload(RUNNING), lambda: None, as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert (told["pipeline"], told["state"], told["what_to_do"]) == ("shop", "running", None)
    assert told["driver"]["pid"] == 4711
    assert told["status"]["addresses"]["spark_ui"] == "http://127.0.0.1:4040"
    assert [flow["flow"] for flow in told["status"]["flows"]] == ["clean", "count"]
    assert told["keeper"]["last_exit"]["reason"] == "killed by SIGKILL"
    assert (told["keeper"]["is_alive"], told["keeper"]["log"]) == (
        True,
        "/data/pipelines/shop/log",
    )


def test_a_command_in_json_says_what_was_asked_and_done() -> None:
    command = Kill(flow=FlowName("clean"), wait_seconds=3)

    assert command_payload(SHOP, command, "killing `clean`") == {
        "pipeline": "shop",
        "flow": "clean",
        "wait_seconds": 3,
        "verb": "kill",
        "done": "killing `clean`",
    }


def test_a_line_of_a_log_in_json_has_its_time_apart() -> None:
    line = "2026-05-01T12:00:00Z detect: started"

    assert log_line(line, as_json=False) == line
    assert json.loads(log_line(line, as_json=True)) == {
        "at": "2026-05-01T12:00:00Z",
        "text": "detect: started",
    }
