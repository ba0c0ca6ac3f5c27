"""Keepers as real processes, with small drivers that do what the test says."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Thread
from typing import TYPE_CHECKING

import psutil
import pytest

import support.scripted_driver
from penstock.control.detached import (
    AlreadyStartedError,
    Detached,
    DriverEndedError,
    KeptPipeline,
    StartRefusedError,
)
from penstock.control.driver_restarts import DriverRestarts
from penstock.control.keeper import Keeper
from penstock.control.kept import KeeperState, KeptFolder, Launch
from penstock.control.leftovers import find_leftovers
from penstock.control.supervision import RestartPolicy
from penstock.names import PipelineName
from support.processes import is_alive
from support.scripted_driver import FLOW_STARTED
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.control.kept import KeeperRecord

SHOP = PipelineName("shop")
SOON = 30.0
REFUSAL = {"code": "PEN-221", "message": "it runs elsewhere", "hint": "stop it", "retryable": False}


@dataclass
class Shop:
    """The pipeline `shop` in a data folder of its own."""

    data_dir: Path

    @property
    def detached(self) -> Detached:
        return Detached(self.data_dir)

    @property
    def folder(self) -> KeptFolder:
        return KeptFolder.of(self.data_dir, SHOP)

    @property
    def record(self) -> KeeperRecord:
        found = self.folder.load_record()
        assert found is not None
        return found

    @property
    def log(self) -> str:
        return self.folder.log.read_text()

    def start(self, *script: dict[str, object], limit: int = 5) -> KeptPipeline:
        """Start it with a driver that does `script`, one item for each start."""
        path = self.data_dir / "script"
        path.write_text("\n".join(json.dumps(act) for act in script))
        return self.detached.start(SHOP, self.launch(path, limit=limit))

    def launch(self, script: Path, *, limit: int = 5) -> Launch:
        driver = support.scripted_driver.__file__
        return Launch(
            command=(sys.executable, driver, str(script)),
            folder=self.data_dir,
            cluster="127.0.0.1:9092",
            restart_limit=limit,
            restart_window_seconds=600,
        )

    def kill_driver(self) -> None:
        """End the driver as the kernel does when memory is short."""
        pid = self.record.driver_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Whether neither a keeper nor anything that a driver has started is left."""
        return not self.folder.is_kept() and not find_leftovers(self.folder)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.detached.end(SHOP, at_once=True)


def running(**more: object) -> dict[str, object]:
    return {"say": [FLOW_STARTED], **more}


def test_a_start_returns_when_the_first_flow_has_started(shop: Shop) -> None:
    started = shop.start(running())

    assert started.record is not None
    assert (started.is_kept, started.record.state) == (True, KeeperState.RUNNING)
    assert psutil.Process(started.record.driver_pid).parent() == psutil.Process(
        started.record.keeper_pid
    )
    assert os.getsid(started.record.keeper_pid) == started.record.keeper_pid
    assert "Z detect: started\n" in shop.log


def test_an_end_takes_the_driver_along(shop: Shop) -> None:
    shop.start(running(child=True))

    ended = shop.detached.end(SHOP)

    assert ended is not None
    assert shop.has_ended()
    assert (shop.record.state, shop.record.why) == (KeeperState.STOPPED, "stopped as wanted")
    assert shop.detached.end(SHOP) is None


def test_a_driver_that_stops_by_itself_ends_its_keeper(shop: Shop) -> None:
    started = shop.start(running())
    assert started.record is not None
    assert started.record.driver_pid is not None

    os.kill(started.record.driver_pid, signal.SIGTERM)

    eventually(shop.has_ended, within_seconds=SOON)
    assert shop.record.state is KeeperState.STOPPED


def test_a_refused_start_is_told_with_the_error_of_the_driver(shop: Shop) -> None:
    with pytest.raises(StartRefusedError) as refused:
        shop.start({"say": [{"error": REFUSAL}], "end": 1})

    assert (refused.value.code, refused.value.message, refused.value.hint) == (
        "PEN-221",
        "it runs elsewhere",
        "stop it",
    )
    assert shop.has_ended()
    assert shop.record.state is KeeperState.FAILED


def test_a_driver_that_was_killed_is_started_again(shop: Shop) -> None:
    first = shop.start(running(child=True)).record
    assert first is not None
    left = find_leftovers(shop.folder)

    shop.kill_driver()

    eventually(lambda: shop.record.driver_pid not in (None, first.driver_pid), within_seconds=SOON)
    eventually(lambda: shop.record.state is KeeperState.RUNNING, within_seconds=SOON)
    assert shop.record.restarts == 1
    assert shop.record.last_exit is not None
    assert shop.record.last_exit.reason == "killed by SIGKILL"
    assert [process for process in left if is_alive(process)] == []


def test_a_driver_that_always_dies_is_given_up_with_the_reason(shop: Shop) -> None:
    told = {"code": "PEN-301", "message": "Java died", "hint": "see", "retryable": True}
    shop.start(running(), {"say": [{"error": told}], "end": 1}, limit=2)

    shop.kill_driver()

    eventually(shop.has_ended, within_seconds=SOON)
    assert (shop.record.state, shop.record.restarts, shop.record.why) == (
        KeeperState.FAILED,
        1,
        "the driver died 2 times within 600 s, at last: [PEN-301] Java died",
    )


def test_a_driver_that_is_killed_while_it_starts_too_often_is_told(shop: Shop) -> None:
    with pytest.raises(DriverEndedError, match="exit status 3"):
        shop.start({"end": 3}, limit=1)

    assert shop.has_ended()


def test_a_driver_that_asks_for_it_is_started_again_and_that_is_no_failure(shop: Shop) -> None:
    shop.start(running(end=75), running(), limit=0)

    eventually(lambda: shop.log.count("detect: started") == 2, within_seconds=SOON)
    eventually(lambda: shop.record.state is KeeperState.RUNNING, within_seconds=SOON)
    assert shop.record.restarts == 0


def test_a_driver_that_hears_nothing_is_killed_with_all_it_started(shop: Shop) -> None:
    shop.start(running(end="stubborn", child=True))

    shop.detached.end(SHOP, at_once=True)

    assert shop.has_ended()
    assert shop.record.state is KeeperState.STOPPED


def test_a_driver_that_does_not_stop_in_time_is_killed(shop: Shop) -> None:
    script = shop.data_dir / "script"
    script.write_text(json.dumps(running(end="stubborn")))
    shop.folder.root.mkdir(parents=True)
    shop.folder.save_launch(shop.launch(script))
    policy = RestartPolicy(limit=5, window_seconds=600)
    restarts = DriverRestarts(policy, clock=time.monotonic, dice=random.uniform)
    keeper = Keeper(shop.folder, restarts, grace_seconds=0.3)
    keeping = Thread(target=keeper.run)
    keeping.start()
    eventually(lambda: shop.folder.load_record() is not None, within_seconds=SOON)
    eventually(lambda: shop.record.state is KeeperState.RUNNING, within_seconds=SOON)

    keeper.end()
    keeping.join(SOON)

    assert find_leftovers(shop.folder) == []
    assert shop.record.state is KeeperState.STOPPED
    assert shop.record.last_exit is not None
    assert shop.record.last_exit.reason == "killed by SIGKILL"


def test_a_driver_is_started_again_though_the_folder_of_its_start_is_gone(shop: Shop) -> None:
    script = shop.data_dir / "script"
    script.write_text(json.dumps(running()))
    gone = shop.data_dir / "gone"
    gone.mkdir()
    shop.detached.start(SHOP, replace(shop.launch(script), folder=gone))
    gone.rmdir()

    shop.kill_driver()

    eventually(lambda: shop.log.count("detect: started") == 2, within_seconds=SOON)


def test_an_end_while_the_next_driver_is_awaited_is_a_stop(shop: Shop) -> None:
    """The third death is followed by a pause of four seconds, give or take."""
    shop.start(running(), {"end": 1})
    shop.kill_driver()
    eventually(
        lambda: shop.record.state is KeeperState.WAITING and shop.record.restarts == 2,
        within_seconds=SOON,
    )

    shop.detached.end(SHOP)

    assert shop.has_ended()
    assert shop.record.state is KeeperState.STOPPED


def test_of_two_starts_at_once_one_is_refused(shop: Shop) -> None:
    def start(_number: int) -> KeptPipeline | AlreadyStartedError:
        try:
            return shop.start(running())
        except AlreadyStartedError as refused:
            return refused

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(start, range(2)))

    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        "AlreadyStartedError",
        "KeptPipeline",
    ]


def test_what_a_keeper_that_died_has_left_is_ended_by_the_next_start(shop: Shop) -> None:
    first = shop.start(running(child=True)).record
    assert first is not None
    left = find_leftovers(shop.folder)
    os.kill(first.keeper_pid, signal.SIGKILL)
    eventually(lambda: not shop.folder.is_kept(), within_seconds=SOON)
    abandoned = shop.detached.find(SHOP)

    started = shop.start(running())

    assert abandoned is not None
    assert abandoned.is_abandoned
    assert len(left) == 2
    assert [process for process in left if is_alive(process)] == []
    assert started.record is not None
    assert started.record.keeper_pid != first.keeper_pid
