"""What commands do to a run as a whole, with queries and starts that only remember."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from penstock.control.command_errors import (
    FrozenByCheckpointError,
    NotKeptError,
    NotNowError,
    NotScalableError,
    UnknownRunningFlowError,
)
from penstock.control.commands import (
    Kill,
    LogLevel,
    Pause,
    RescaleCores,
    RescaleReading,
    RescaleShuffle,
    Restart,
    SetLogLevel,
    Stop,
)
from penstock.control.kept import KEEPER_VARIABLE, KeptFolder, Launch
from penstock.control.options import RunOptions
from penstock.control.starting import with_min_partitions
from penstock.control.supervision import FlowState
from penstock.control.verbs import RunCommands
from penstock.engine.log_levels import FormerLevel
from penstock.kafka import Connection
from penstock.names import DatasetName, FlowName, PipelineName
from penstock.pipeline import RealTime, Topic
from penstock.settings import load_settings
from support.declared import declared_flow, declared_topic, pipeline_of
from support.staged_runs import A, B, Stage
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline import Flow, Pipeline


@dataclass
class NotedStarter:
    """Remembers what it was asked to rescale; flows read a topic unless the test says otherwise."""

    pipeline: Pipeline
    reads_topics: bool = True
    rescaled: dict[FlowName, int] = field(default_factory=dict)

    def topics_read(self, flow: Flow) -> tuple[Topic, ...]:
        read = [item for item in self.pipeline.sources(flow) if isinstance(item, Topic)]
        return tuple(read) if self.reads_topics else ()

    def rescale(self, flow: Flow, min_partitions: int) -> None:
        self.rescaled[flow.name] = min_partitions

    def shuffle_partitions(self, flow: Flow) -> str | None:
        return "4" if flow.name == A else None


class SilentLoggers:
    def level_of(self, logger: str) -> FormerLevel:
        return FormerLevel(logger=logger, own=None, effective="warn")

    def change(self, logger: str, level: str) -> None:
        pass

    def restore(self, former: FormerLevel) -> None:
        pass


class Setting:
    """A run of two flows, `a` in batches and `b` in real time, and the commands to it."""

    def __init__(self, folder: Path) -> None:
        topics = [declared_topic("orders"), declared_topic("out")]
        flows = (
            declared_flow("a", reads="orders", into="out"),
            replace(declared_flow("b", reads="orders", into="out"), trigger=RealTime()),
        )
        self.stage = Stage()
        self.pipeline = replace(pipeline_of(*topics), flows=flows)
        self.starter = NotedStarter(self.pipeline)
        options = RunOptions(
            pipeline=self.pipeline,
            flows=flows,
            settings=load_settings({}, start=folder),
            connection=Connection(bootstrap="127.0.0.1:1"),
        )
        self.commands = RunCommands(options, self.stage.supervisor)

    def await_running(self) -> None:
        running = {A: FlowState.RUNNING, B: FlowState.RUNNING}
        eventually(lambda: self.stage.supervisor.states == running, within_seconds=5)


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    """A run in the foreground."""
    made = Setting(tmp_path)
    made.await_running()
    with made.commands.during(made.starter, SilentLoggers()):
        yield made
    made.stage.close()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeptFolder:
    """The folder of a keeper that has started this process."""
    folder = KeptFolder.of(tmp_path, PipelineName("shop"))
    folder.root.mkdir(parents=True)
    folder.save_launch(
        Launch(
            command=("penstock",),
            folder=tmp_path,
            cluster="127.0.0.1:1",
            restart_limit=5,
            restart_window_seconds=600,
        )
    )
    monkeypatch.setenv(KEEPER_VARIABLE, str(folder.root))
    return folder


def test_in_the_foreground_nobody_would_start_the_driver_again(setting: Setting) -> None:
    for command in (Restart(), RescaleCores(cores=4)):
        with pytest.raises(NotKeptError):
            setting.commands.carry_out(command)

    assert not setting.commands.starts_again
    assert not setting.stage.supervisor.is_stopping


def test_a_kept_driver_ends_in_good_order_to_be_started_again(
    kept: KeptFolder, setting: Setting
) -> None:
    said = setting.commands.carry_out(Restart())

    assert setting.stage.end() == {}
    assert said == (
        "stopping after the running batches, 60 s at most; then the driver starts again"
    )
    assert setting.stage.query(A).asked == ["after batch"]
    assert (setting.commands.starts_again, kept.load_launch().cores) == (True, None)


def test_other_cores_are_left_with_the_keeper(kept: KeptFolder, setting: Setting) -> None:
    said = setting.commands.carry_out(RescaleCores(cores=3))

    assert said.endswith("then the driver starts again with 3 cores")
    assert (setting.commands.starts_again, kept.load_launch().cores) == (True, 3)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("command", [Stop(), Kill()], ids=str)
def test_whoever_wants_the_end_after_that_gets_it(setting: Setting, command: Stop | Kill) -> None:
    setting.stage.query(A).finishes_batches = False
    setting.commands.carry_out(Restart())
    setting.commands.carry_out(command)

    assert not setting.commands.starts_again


def test_a_driver_that_is_stopping_is_not_started_again(kept: KeptFolder, setting: Setting) -> None:
    setting.stage.query(A).finishes_batches = False
    setting.commands.carry_out(Stop())

    with pytest.raises(NotNowError):
        setting.commands.carry_out(RescaleCores(cores=3))
    assert (setting.commands.starts_again, kept.load_launch().cores) == (False, None)


def test_reading_is_rescaled_by_a_restart_of_the_flow(setting: Setting) -> None:
    said = setting.commands.carry_out(RescaleReading(flow=A, min_partitions=8))
    setting.stage.query(A, 1)

    assert setting.starter.rescaled == {A: 8}
    assert said == (
        "restarting `a` after the running batch; then it reads each topic with at least 8 tasks"
        " until the driver ends"
    )


def test_a_paused_flow_stays_paused_when_it_is_rescaled(setting: Setting) -> None:
    setting.commands.carry_out(Pause(flow=A))
    eventually(lambda: setting.stage.supervisor.state_of(A) is FlowState.PAUSED, within_seconds=5)
    said = setting.commands.carry_out(RescaleReading(flow=A, min_partitions=8))

    assert said.startswith("`a` is paused; from its next start on, it reads")
    assert setting.starter.rescaled == {A: 8}
    assert len(setting.stage.queries[A]) == 1


def test_what_reads_no_topic_or_in_real_time_cannot_read_with_more_tasks(setting: Setting) -> None:
    with pytest.raises(NotScalableError, match="real time"):
        setting.commands.carry_out(RescaleReading(flow=B, min_partitions=8))
    setting.starter.reads_topics = False
    with pytest.raises(NotScalableError, match="no topic"):
        setting.commands.carry_out(RescaleReading(flow=A, min_partitions=8))

    assert setting.starter.rescaled == {}


def test_shuffle_partitions_are_refused_with_what_the_checkpoint_has(setting: Setting) -> None:
    with pytest.raises(FrozenByCheckpointError) as refused:
        setting.commands.carry_out(RescaleShuffle(flow=A, shuffle_partitions=16))

    assert "flow `a` keeps 4 shuffle partitions" in refused.value.message
    assert "16 would need a replay" in refused.value.message


@pytest.mark.parametrize(
    "command",
    [
        RescaleReading(flow=FlowName("c"), min_partitions=8),
        RescaleShuffle(flow=FlowName("c"), shuffle_partitions=8),
        Pause(flow=FlowName("c")),
    ],
    ids=str,
)
def test_flows_that_do_not_run_are_refused(
    setting: Setting, command: RescaleReading | RescaleShuffle | Pause
) -> None:
    with pytest.raises(UnknownRunningFlowError):
        setting.commands.carry_out(command)


def test_levels_are_set(setting: Setting) -> None:
    command = SetLogLevel(logger="org.apache.kafka", level=LogLevel.DEBUG, for_seconds=60)

    assert "writes `debug`" in setting.commands.carry_out(command)


def test_before_the_flows_run_only_the_end_can_be_had(tmp_path: Path) -> None:
    made = Setting(tmp_path)
    with pytest.raises(NotNowError, match="the pipeline is starting"):
        made.commands.carry_out(Pause())
    said = made.commands.carry_out(Stop())

    assert said.startswith("stopping as soon as")
    assert made.stage.end() == {}


def test_only_the_topics_that_a_flow_reads_are_read_with_more_tasks() -> None:
    topics = [declared_topic("orders"), declared_topic("clean"), declared_topic("out")]
    pipeline = pipeline_of(*topics)

    changed = with_min_partitions(pipeline, pipeline.flows[0], 8)

    counts = {
        item.name: item.min_partitions for item in changed.datasets if isinstance(item, Topic)
    }
    assert counts == {
        DatasetName("orders"): 8,
        DatasetName("clean"): None,
        DatasetName("out"): None,
    }
    assert changed.dataset(DatasetName("orders")) != pipeline.dataset(DatasetName("orders"))
