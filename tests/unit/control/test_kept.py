"""What is kept on disk of a detached pipeline."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from penstock.control.detached import Detached
from penstock.control.kept import (
    KEEPER_VARIABLE,
    DriverExit,
    KeeperRecord,
    KeeperState,
    KeptFileError,
    KeptFolder,
    Launch,
    ToldError,
    kept_here,
)
from penstock.control.kept_cores import with_cores, with_kept_cores
from penstock.names import PipelineName
from penstock.settings import SparkSettings, load_settings

if TYPE_CHECKING:
    from pathlib import Path

SHOP = PipelineName("shop")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
RECORD = KeeperRecord(
    keeper_pid=12,
    state=KeeperState.WAITING,
    since=NOON,
    why="killed by SIGKILL",
    restarts=2,
    next_start_at=NOON,
    last_exit=DriverExit(
        at=NOON, status=1, error=ToldError(code="PEN-301", message="it died", hint="see")
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> KeptFolder:
    folder = KeptFolder.of(tmp_path, SHOP)
    folder.root.mkdir(parents=True)
    return folder


def launch(folder: Path) -> Launch:
    return Launch(
        command=("penstock", "run"),
        folder=folder,
        cluster="127.0.0.1:9092",
        restart_limit=5,
        restart_window_seconds=600,
    )


@pytest.mark.parametrize(
    "record", [RECORD, replace(RECORD, last_exit=None, next_start_at=None, driver_pid=7)]
)
def test_what_a_keeper_says_is_read_as_it_was_written(
    folder: KeptFolder, record: KeeperRecord
) -> None:
    folder.save_record(record)

    assert folder.load_record() == record


def test_a_rescale_changes_the_cores_of_the_next_driver_and_nothing_else(
    folder: KeptFolder, tmp_path: Path
) -> None:
    folder.save_launch(launch(tmp_path))

    folder.save_cores(3)

    assert folder.load_launch() == replace(launch(tmp_path), cores=3)


def test_a_damaged_file_is_named(folder: KeptFolder) -> None:
    (folder.root / "keeper.json").write_text('{"state": "dancing"}')

    with pytest.raises(KeptFileError, match=r"keeper\.json"):
        folder.load_record()


def test_a_keeper_is_alive_as_long_as_it_holds_its_lock(folder: KeptFolder) -> None:
    before = folder.is_kept()
    lock = folder.hold()
    assert lock is not None

    assert (before, folder.is_kept(), folder.hold()) == (False, True, None)


def test_a_keeper_that_ended_without_a_word_has_abandoned_its_pipeline(
    folder: KeptFolder, tmp_path: Path
) -> None:
    folder.save_record(RECORD)
    abandoned = Detached(tmp_path).find(SHOP)
    folder.save_record(replace(RECORD, state=KeeperState.FAILED))
    ended = Detached(tmp_path).find(SHOP)

    assert abandoned is not None
    assert ended is not None
    assert (abandoned.is_abandoned, ended.is_abandoned) == (True, False)


def test_pipelines_that_were_never_detached_here_are_not_found(tmp_path: Path) -> None:
    assert (Detached(tmp_path).find(SHOP), Detached(tmp_path).all()) == (None, ())


def test_a_driver_knows_its_keeper_by_its_environment(
    folder: KeptFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = kept_here()
    monkeypatch.setenv(KEEPER_VARIABLE, str(folder.root))

    assert (alone, kept_here()) == (None, folder)


def test_a_kept_driver_has_the_cores_of_the_last_rescale(
    folder: KeptFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(start=tmp_path, environ={"PENSTOCK_SPARK_MASTER": "local[2,4]"})
    folder.save_launch(launch(tmp_path))
    monkeypatch.setenv(KEEPER_VARIABLE, str(folder.root))
    before = with_kept_cores(settings)

    folder.save_cores(3)

    assert (before, with_kept_cores(settings).spark.master) == (settings, "local[3,4]")


@pytest.mark.parametrize(
    ("master", "conf", "found"),
    [
        (None, {}, ("local[6,4]", {})),
        ("local", {}, ("local[6]", {})),
        ("local[*]", {}, ("local[6]", {})),
        ("local[2, 1]", {}, ("local[6, 1]", {})),
        ("spark://a:7077", {}, ("spark://a:7077", {"spark.cores.max": "6"})),
        ("yarn", {}, ("yarn", {"spark.executor.instances": "6"})),
        (
            "k8s://https://a",
            {"spark.executor.cores": "4"},
            ("k8s://https://a", {"spark.executor.cores": "4", "spark.executor.instances": "2"}),
        ),
    ],
)
def test_cores_are_asked_for_in_the_words_of_the_cluster(
    master: str | None, conf: dict[str, str], found: tuple[str, dict[str, str]]
) -> None:
    scaled = with_cores(SparkSettings(master=master, conf=conf), 6)

    assert (scaled.master, scaled.conf) == found
