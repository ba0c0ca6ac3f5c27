"""A registry without Kafka: its log folds what is appended into the state at once."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote

import httpx2
from starlette.types import ASGIApp

from penstock.registry.errors import RegistryError
from penstock.registry.log import Record
from penstock.registry.state import RegistryState


@dataclass
class FoldingLog:
    """A log in memory, of one instance that leads."""

    state: RegistryState
    records: list[Record] = field(default_factory=list)
    refusal: RegistryError | None = None
    """What the next append ends with, having written nothing."""

    def append(self, records: Sequence[Record]) -> None:
        if self.refusal is not None:
            raise self.refusal
        for record in records:
            self.records.append(record)
            self.state.apply(record, len(self.records) - 1)

    def keys(self) -> list[str]:
        return [record.key.decode() for record in self.records]

    def last(self) -> Record:
        return self.records[-1]


@dataclass(frozen=True)
class Answer:
    """What the API answered."""

    status: int
    content_type: str
    text: str

    @property
    def value(self) -> object:
        return json.loads(self.text)

    @property
    def error_code(self) -> object:
        return self["error_code"]

    def __getitem__(self, name: str) -> object:
        value = self.value
        assert isinstance(value, dict), value
        return value[name]


class Api:
    """Speaks HTTP to a registry's application, without a network; with a body, it is JSON."""

    def __init__(self, app: ASGIApp, runner: asyncio.Runner, log: FoldingLog) -> None:
        transport = httpx2.ASGITransport(app=app)
        self._client = httpx2.AsyncClient(transport=transport, base_url="http://registry")
        self._runner = runner
        self.log = log

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        sent = {"content-type": "application/vnd.schemaregistry.v1+json", **(headers or {})}
        content = json.dumps(body).encode() if body is not None else content
        asking = self._client.request(method, path, content=content, headers=sent)
        response = self._runner.run(asking)
        return Answer(response.status_code, response.headers.get("content-type", ""), response.text)

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, body: object = None) -> Answer:
        return self.ask("POST", path, body)

    def put(self, path: str, body: object = None) -> Answer:
        return self.ask("PUT", path, body)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path)

    def register(self, subject: str, schema: str, **fields: object) -> int:
        """Register a schema and return its id."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        answer = self.post(path, {"schema": schema, **fields})
        assert answer.status == HTTPStatus.OK, answer
        schema_id = answer["id"]
        assert isinstance(schema_id, int)
        return schema_id


def record_schema(*fields: str, name: str = "Order") -> str:
    """Return an Avro record with optional fields: any two of one name are compatible."""
    return json.dumps(
        {
            "type": "record",
            "name": name,
            "fields": [
                {"name": field, "type": ["null", "string"], "default": None} for field in fields
            ],
        },
        separators=(",", ":"),
    )
