"""What the console is shown over: a whole platform, a pipeline under traffic, hostile strangers."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import httpx2
from confluent_kafka import Producer

from penstock.control.detached import Detached
from penstock.demo import Traffic, generate, project_folder
from penstock.kafka import Admin, Connection, create_topic
from penstock.names import GroupId, PipelineName, TopicName
from support.commands import Penstock
from support.groups import commit
from support.in_process import PenstockInProcess
from support.processes import kill_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Outcome

PIPELINE = PipelineName("fraud")
HOSTILE = TopicName("hostile")
SCRIPT = '<script>window.harm = "script"</script>'
IMAGE = '"><img src=x onerror="window.harm = 1">'
HOSTILE_GROUP = GroupId(f"group {SCRIPT}{IMAGE}")

_NAME = "scene"
_LINES_PER_SECOND = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A platform with a console, on which the fraud pipeline runs."""

    folder: Path
    environment: dict[str, str]
    platform: dict[str, Any]
    """What `penstock up --json` told."""

    @property
    def console(self) -> str:
        """The address of the console."""
        url: str = self.platform["console"]["url"]
        return url

    @property
    def connection(self) -> Connection:
        """How to reach Kafka."""
        return Connection(bootstrap=self.platform["bootstrap"])

    def penstock(self, *arguments: str) -> Outcome:
        """Call a command in this process."""
        return PenstockInProcess(self.folder / "fraud", self.environment)(*arguments)

    def twin(self, url: str) -> Any:  # noqa: ANN401 - whatever the page tells
        """Return the JSON twin of a page."""
        answer = httpx2.get(
            f"{self.console}{url}", headers={"Accept": "application/json"}, timeout=30
        )
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def running_scene(folder: Path) -> Iterator[Scene]:
    """Start it, and end all of it."""
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
        "PENSTOCK_PLATFORM_NAME": _NAME,
        "PENSTOCK_PLATFORM_PORT": "0",
        "PENSTOCK_SPARK_MASTER": "local[2,4]",
        "PENSTOCK_SPARK_DRIVER_MEMORY_MB": "1024",
    }
    shutil.copytree(project_folder(), folder / "fraud")
    penstock = Penstock(folder / "fraud", environment)
    with ExitStack() as stack:
        stack.callback(_end_platform, penstock, folder)
        up = penstock("up", "--json", timeout_seconds=240)
        assert up.status == 0, up.stderr
        scene = Scene(folder=folder, environment=environment, platform=up.json)
        _send_hostile(scene)
        silenced = scene.penstock("alerts", "silence", "data-lost", "--for", "1h", "--why", SCRIPT)
        assert silenced.status == 0, silenced.stderr
        stack.callback(Detached(folder / "data").end, PIPELINE, at_once=True)
        started = penstock("start", timeout_seconds=320)
        assert started.status == 0, started.stderr
        with _traffic(scene.connection):
            yield scene


def _end_platform(penstock: Penstock, folder: Path) -> None:
    penstock("down", timeout_seconds=120)
    kill_all(folder / "data" / "platforms" / _NAME)


@contextmanager
def _traffic(connection: Connection) -> Iterator[None]:
    over = Event()
    traffic = Traffic(rate=_LINES_PER_SECOND, duration_seconds=3600, seed=1, broken_share=0.01)
    sender = Thread(target=generate, args=(connection, traffic), kwargs={"stop": over})
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


def _send_hostile(scene: Scene) -> None:
    """Put scripts wherever strangers can put text that the console shows."""
    with Admin(scene.connection) as admin:
        create_topic(admin, HOSTILE, partition_count=1, replication_factor=1)
    producer = Producer(scene.connection.client_config())
    for text in (SCRIPT, IMAGE):
        producer.produce(HOSTILE, key=text, value=text, headers=[(text, text.encode())])
        producer.produce(HOSTILE, key=text, value=f'{{"text": "{SCRIPT}"}}')
    assert producer.flush(20) == 0
    commit(scene.connection, HOSTILE_GROUP, HOSTILE, {0: 1}, metadata=SCRIPT)
    schema = (
        '{"type": "record", "name": "Hostile", "doc": "DOC",'
        ' "fields": [{"name": "text", "type": "string", "doc": "DOC"}]}'
    ).replace("DOC", SCRIPT.replace('"', "'"))
    answer = httpx2.post(
        f"{scene.platform['registry']['url']}/subjects/{HOSTILE}-value/versions",
        json={"schema": schema},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
