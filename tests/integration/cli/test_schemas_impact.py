"""`penstock schemas impact`, as `docs/registry.md` shows it: real Spark, Kafka and registry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.control.status import Rates, Totals
from penstock.control.status_records import (
    STATUS_TOPIC,
    FlowRecord,
    PipelineState,
    encode_status,
    status_key,
)
from penstock.control.supervision import FlowState
from penstock.engine.events import SubjectRead
from penstock.kafka.tables import KafkaTable
from penstock.names import FlowName, PipelineName, Subject, TopicName
from penstock.registry.client import RegistryAddress, RegistryClient
from penstock.schemas import SchemaText, SchemaType
from support.commands import Penstock
from support.drivers import driver, status
from support.in_process import PenstockInProcess
from support.pipeline_events import NOON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kafka import Connection

PAGE = Path(__file__).parents[3] / "docs" / "registry.md"
SCHEMA = """{"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"},
  {"name": "since", "type": {"type": "int", "logicalType": "date"}%s}]}"""
TODAY = SCHEMA % ""
DRAFT = (SCHEMA % ', "default": 0').replace("since", "joined")


@pytest.fixture
def users(registry_url: str) -> str:
    """The name of a topic whose schema is registered."""
    topic = f"users{uuid4().hex[:8]}"
    with RegistryClient(RegistryAddress(url=registry_url)) as client:
        text = SchemaText(type=SchemaType.AVRO, text=TODAY)
        client.register(Subject(f"{topic}-value"), text)
    return topic


@pytest.fixture
def billing(connection: Connection, users: str) -> Iterator[str]:
    """A pipeline elsewhere whose driver has said what it uses."""
    pipeline = PipelineName(f"billing{uuid4().hex[:8]}")
    read = SubjectRead(
        topic=TopicName(users),
        subject=Subject(f"{users}-value"),
        is_key=False,
        columns={"name": "string", "since": "date"},
    )
    flow = FlowRecord(
        flow=FlowName("invoice"),
        state=FlowState.RUNNING,
        since=NOON,
        rates=Rates(records_in=0, records_out=0),
        totals=Totals(),
        reads=(read,),
    )
    said = status(PipelineState.RUNNING, pipeline=pipeline, driver=driver(), flows=(flow,))
    with KafkaTable.open(connection, STATUS_TOPIC) as table:
        table.put(status_key(pipeline, 1), encode_status(said))
        yield pipeline
        table.delete(status_key(pipeline, 1))


def test_what_a_change_breaks_here_and_elsewhere_is_told_as_the_page_shows(
    tmp_path: Path, connection: Connection, registry_url: str, users: str, billing: str
) -> None:
    page = PAGE.read_text()
    (flows,) = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n\$ penstock (.*?)^```", page, re.DOTALL | re.MULTILINE)
    command, *lines = shown.splitlines()
    (tmp_path / "flows.py").write_text(flows.replace('"users"', f'"users", kafka_name="{users}"'))
    (tmp_path / "draft.avsc").write_text(DRAFT)
    penstock = Penstock(
        tmp_path,
        {
            "PENSTOCK_BOOTSTRAP": connection.bootstrap,
            "PENSTOCK_REGISTRY_URL": registry_url,
            "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        },
    )

    done = penstock(*command.replace("users", users).split(), timeout_seconds=110)

    printed = (done.stdout + done.stderr).replace(users, "users").replace(billing, "billing")
    printed = printed.replace(f"{tmp_path.resolve()}/", "")
    assert done.status == 1
    plain = [" ".join(line.split()) for line in printed.splitlines()]
    expected = [" ".join(line.split()) for line in lines if line]
    assert [line for line in expected if line not in plain] == [], printed


@pytest.mark.parametrize(
    ("name", "text", "code", "status_code"),
    [
        ("draft.avsc", TODAY, "PEN-756", 2),
        ("schemas/a-value.avsc", '{"type": "recor"}', "PEN-700", 2),
        ("schemas/a-value.txt", TODAY, "PEN-745", 2),
    ],
)
def test_a_wrong_file_is_told_before_spark_is_started(
    tmp_path: Path, name: str, text: str, code: str, status_code: int
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / name).write_text(text)
    penstock = PenstockInProcess(tmp_path, {"PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data")})

    done = penstock("schemas", "impact", name)

    assert (done.status, done.stderr.partition(":")[0]) == (status_code, f"error[{code}]")
