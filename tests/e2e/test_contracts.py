"""A pipeline on Avro: new versions while it runs, and a registry that goes away."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fastavro
import pytest

from penstock.local.ports import free_ports
from penstock.names import Subject, TopicName
from penstock.registry.client import RegistryAddress, RegistryClient
from penstock.schemas import SchemaText, SchemaType
from support.commands import Penstock
from support.producing import Sent, send
from support.projects_to_run import LONG, Project
from support.registries import running_registry
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster
    from support.projects_to_run import Run

FLOWS = """
    import penstock as ps
    from pyspark.sql import DataFrame

    ps.topic("customers", kafka_name="{prefix}-customers", partitions=1, value=ps.avro("Customer"))
    ps.topic("ids", kafka_name="{prefix}-ids", partitions=1, value=ps.json("id bigint"))
    ps.topic("mails", kafka_name="{prefix}-mails", partitions=1, value=ps.avro())


    @ps.flow(into="ids")
    def note(customers: DataFrame) -> DataFrame:
        return customers.select("id")


    @ps.flow(into="mails")
    def mail(customers: DataFrame) -> DataFrame:
        return customers.select("id", "email").where("email IS NOT NULL")
"""


def customer(*fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "Customer",
        "fields": [{"name": "id", "type": "long"}, *fields],
    }


def optional(name: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", "string"], "default": None}


V1, V2, V3 = customer(), customer(optional("email")), customer(optional("email"), optional("city"))


class Sender:
    """Registers versions and sends records of them."""

    def __init__(self, kafka: KafkaCluster, topic: TopicName, url: str) -> None:
        self._kafka, self._topic, self._url = kafka, topic, url

    def register(self, schema: object) -> int:
        with RegistryClient(RegistryAddress(url=self._url)) as client:
            text = SchemaText(type=SchemaType.AVRO, text=json.dumps(schema))
            return client.register(Subject(f"{self._topic}-value"), text)

    def send(self, schema_id: int, schema: Any, *rows: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        records = []
        for row in rows:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
            prefix = b"\x00" + schema_id.to_bytes(4, "big")
            records.append(Sent(value=prefix + out.getvalue()))
        send(self._kafka.connection, self._topic, records)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_versions_come_and_a_registry_goes_and_no_record_is_lost_or_misread(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    schemas = f"_schemas-{uuid4().hex}"
    # Not of those that any client may get while no registry is there.
    [port] = free_ports(1)
    with ExitStack() as first_life:
        url = first_life.enter_context(running_registry(kafka.bootstrap, schemas, port=port)).url
        environment = {
            "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
            "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
            "PENSTOCK_REGISTRY_URL": url,
            "PENSTOCK_REGISTRY_REGISTER": "true",
        }
        project = Project(tmp_path, kafka.bootstrap, Penstock(tmp_path, environment))
        project.declare(FLOWS)
        (tmp_path / "schemas").mkdir()
        (tmp_path / "schemas" / "Customer.avsc").write_text(json.dumps(V2))
        sender = Sender(kafka, TopicName(f"{project.prefix}-customers"), url)
        first = sender.register(V1)

        with project.running("--json") as run:
            run.await_event("flow_started", flow="note")
            run.await_event("flow_started", flow="mail")
            sender.send(first, V1, {"id": 1})
            eventually(lambda: project.ids("ids") == [1], within_seconds=LONG)
            second = sender.register(V2)
            sender.send(second, V2, {"id": 2, "email": "b@x"})
            sender.send(first, V1, {"id": 3})
            eventually(lambda: set(project.ids("ids")) == {1, 2, 3}, within_seconds=LONG)

            third = sender.register(V3)
            first_life.close()
            sender.send(third, V3, {"id": 4, "email": "d@x", "city": "Ulm"})
            eventually(lambda: "PEN-741" in failures(run), within_seconds=LONG)
            with running_registry(kafka.bootstrap, schemas, port=port):
                eventually(lambda: set(project.ids("ids")) == {1, 2, 3, 4}, within_seconds=LONG)
                status = run.interrupt()

    assert status == 0, run.stderr
    assert failures(run) >= {"PEN-381", "PEN-741"}
    assert not run.told("dead_letters_written")


def failures(run: Run) -> set[str]:
    """Return the codes of what flows met."""
    return {event["error"]["code"] for event in run.events if event["event"] == "flow_failed"}
