"""Many clients at once: no id twice, and answers while the log is slow."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import httpx2
import pytest

from penstock.names import Subject
from penstock.registry.api import create_app
from penstock.registry.entries import Content
from penstock.registry.errors import RejectedSchemaError
from penstock.registry.log import Record
from penstock.registry.registering import Registration
from penstock.registry.service import Registry
from penstock.registry.state import RegistryState, Which
from penstock.schemas import Level, Reference
from support.folded_registry import FoldingLog, record_schema


def test_schemas_registered_at_the_same_time_never_share_an_id() -> None:
    state = RegistryState()
    registry = Registry(state, FoldingLog(state))
    registry.configuring.set_config(
        None, lambda config: replace(config, compatibility_level=Level.NONE)
    )

    def register(number: int) -> tuple[str, int]:
        text = record_schema("a", name=f"R{number % 20}")
        asked = Registration(subject=Subject(f"s{number % 7}"), content=Content(text=text))
        return text, registry.registering.register(asked).id

    with ThreadPoolExecutor(8) as pool:
        given = set(pool.map(register, range(140)))

    assert sorted(schema_id for _, schema_id in given) == list(range(1, 21))
    assert len({text for text, _ in given}) == 20


def test_a_schema_is_refused_whose_reference_is_deleted_while_it_is_parsed() -> None:
    state = RegistryState()
    registry = Registry(state, FoldingLog(state))
    address = Subject("address")
    registry.registering.register(
        Registration(subject=address, content=Content(text=record_schema("a", name="Address")))
    )
    registry.deleting.delete_subject(address, permanent=False)
    content = Content(
        text='{"type":"record","name":"C","fields":[{"name":"a","type":"Address"}]}',
        references=(Reference(name="Address", subject="address", version=1),),
    )
    check = registry.reading.check_references

    def check_then_delete(subject: Subject, content: Content) -> None:
        check(subject, content)
        if state.versions(address, Which.DELETED):
            registry.deleting.delete_subject(address, permanent=True)

    registry.reading.check_references = check_then_delete  # type: ignore[method-assign]  # staged

    with pytest.raises(RejectedSchemaError, match="No schema found for reference 'Address'"):
        registry.registering.register(Registration(subject=Subject("c"), content=content))


@dataclass
class WaitingLog(FoldingLog):
    """A log that is slow: it appends when it is let."""

    asked: threading.Event = field(default_factory=threading.Event)
    let: threading.Event = field(default_factory=threading.Event)

    def append(self, records: Sequence[Record]) -> None:
        self.asked.set()
        assert self.let.wait(timeout=10)
        super().append(records)


def test_reads_are_answered_while_writes_wait_for_the_log(runner: asyncio.Runner) -> None:
    state = RegistryState()
    log = WaitingLog(state)
    transport = httpx2.ASGITransport(app=create_app(Registry(state, log)))

    async def scenario() -> list[int]:
        async with httpx2.AsyncClient(transport=transport, base_url="http://registry") as client:
            body = {"schema": record_schema("a")}
            writes = [
                asyncio.create_task(client.post(f"/subjects/s{number}/versions", json=body))
                for number in range(10)
            ]
            await asyncio.to_thread(log.asked.wait)
            reads = [
                await client.get("/subjects"),
                await client.post("/subjects/s1", json=body),
                await client.post("/compatibility/subjects/s1/versions", json=body),
            ]
            waiting = [write for write in writes if not write.done()]
            log.let.set()
            await asyncio.gather(*writes)
            return [len(waiting), *(answer.status_code for answer in reads)]

    assert runner.run(scenario()) == [10, 200, 404, 200]
