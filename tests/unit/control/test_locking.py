"""The lock that keeps a second run off the checkpoints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.control.errors import PipelineRunningError
from penstock.control.locking import local_folder, only_run
from penstock.names import PipelineName

HOLD = """
import sys
from penstock.control.locking import only_run
with only_run(sys.argv[1], "trial"):
    print("locked", flush=True)
    sys.stdin.read()
"""
TRIAL = PipelineName("trial")


def test_a_second_run_is_refused_and_told_who_runs(tmp_path: Path) -> None:
    with (
        only_run(str(tmp_path), TRIAL),
        pytest.raises(PipelineRunningError) as caught,
        only_run(str(tmp_path), TRIAL),
    ):
        pass

    assert caught.value.pid == str(os.getpid())


def test_other_pipelines_and_other_roots_are_free(tmp_path: Path) -> None:
    with (
        only_run(str(tmp_path), TRIAL),
        only_run(str(tmp_path), PipelineName("other")),
        only_run((tmp_path / "elsewhere").as_uri(), TRIAL),
    ):
        pass


def test_a_killed_run_leaves_no_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(PipelineRunningError) as caught, only_run(str(tmp_path), TRIAL):
            pass
        holder.kill()
        holder.wait()

    assert caught.value.pid == str(holder.pid)
    with only_run(str(tmp_path), TRIAL):
        pass


def test_checkpoints_elsewhere_have_no_lock_here() -> None:
    with only_run("s3a://bucket/checkpoints", TRIAL), only_run("s3a://bucket/checkpoints", TRIAL):
        pass


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        ("checkpoints", Path("checkpoints")),
        ("/data/a b", Path("/data/a b")),
        ("file:///data/a%20b", Path("/data/a b")),
        ("hdfs://name/data", None),
    ],
)
def test_a_root_is_a_folder_or_elsewhere(root: str, folder: Path | None) -> None:
    assert local_folder(root) == folder
